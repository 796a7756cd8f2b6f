package proc

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Drain empties a process before it ends: once, whoever asks for it first, be it
// the admin port or a signal. What is emptied, and how, is said by who calls Run.
// All methods may run concurrently.
type Drain struct {
	left  func() int
	once  sync.Once
	begun chan struct{}
	done  chan struct{}
}

// NewDrain returns a drain that nobody has asked for yet. left tells how much
// there is to empty at the moment: connections, or work that was taken.
func NewDrain(left func() int) *Drain {
	return &Drain{left: left, begun: make(chan struct{}), done: make(chan struct{})}
}

// Begin asks for the drain, and does not wait for it. Again it does nothing.
func (d *Drain) Begin() { d.once.Do(func() { close(d.begun) }) }

// Begun is closed when somebody has asked for the drain.
func (d *Drain) Begun() <-chan struct{} { return d.begun }

// Done is closed when the drain is over.
func (d *Drain) Done() <-chan struct{} { return d.done }

// Wanted reports whether somebody has asked for the drain.
func (d *Drain) Wanted() bool {
	select {
	case <-d.begun:
		return true
	default:
		return false
	}
}

func (d *Drain) over() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// Run empties what there is to empty by calling empty, and says so to who waits.
// It is called once, after Begin.
func (d *Drain) Run(empty func()) {
	defer close(d.done)
	empty()
}

// Measure registers whether the process drains, and what remains.
func (d *Drain) Measure(m *Metrics) {
	m.Gauge("tidings_draining", "1 from the moment on at which the process was asked to drain, otherwise 0.", func() float64 {
		if d.Wanted() {
			return 1
		}
		return 0
	})
	m.Gauge("tidings_drain_remaining", "Connections that the drain of an api has not ended yet, or commands and calls that a worker that drains has not answered yet; 0 when the process does not drain.", func() float64 {
		if !d.Wanted() {
			return 0
		}
		return float64(d.left())
	})
}

// Drained is what POST /drain answers.
type Drained struct {
	Draining  bool `json:"draining"`  // always true
	Done      bool `json:"done"`      // nothing is left to wait for: the process may be ended
	Remaining int  `json:"remaining"` // connections, or commands and calls that are not answered
}

// maxDrainWait bounds one request that waits.
const maxDrainWait = time.Minute

// Route serves POST /drain: it starts the drain and answers 202 at once with a
// Drained; with ?wait=<duration>, or ?wait for a minute, the longest there is, it
// waits for the end of it, and answers 200 when that has come. To ask again does no
// harm. The process goes on, and answers its probes, until a signal ends it, which
// then waits for nothing that the drain has waited for.
func (d *Drain) Route() Route {
	return Route{Pattern: "POST /drain", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait, err := drainWait(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		d.Begin()
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		said := Drained{Draining: true}
		select {
		case <-d.done:
		case <-ctx.Done():
		}
		said.Done = d.over()
		said.Remaining = d.left()
		w.Header().Set("Content-Type", "application/json")
		if !said.Done {
			w.WriteHeader(http.StatusAccepted)
		}
		_ = json.NewEncoder(w).Encode(said) // who asked has gone
	})}
}

// drainWait is how long a request waits; zero when it does not.
func drainWait(r *http.Request) (time.Duration, error) {
	q := r.URL.Query()
	if !q.Has("wait") {
		return 0, nil
	}
	wait, err := time.ParseDuration(cmp.Or(q.Get("wait"), maxDrainWait.String()))
	return min(max(wait, 0), maxDrainWait), err
}

package quota

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"tidings/bus"
)

const (
	// tellEvery is how often a process tells what it has counted: a caller may
	// get ahead by what the other processes let pass in that time.
	tellEvery = 200 * time.Millisecond
	// sweepEvery is how often those are forgotten who do nothing.
	sweepEvery = 10 * time.Second
	// maxTold is how many callers one message tells of.
	maxTold = 2000
	// maxCount bounds what another process may claim of one caller at a time.
	maxCount = 1_000_000_000
)

// report is what one process tells the others, as docs/bus.md has it.
type report struct {
	From string  `json:"from"`
	Used []spent `json:"used"`
}

type spent struct {
	Key      string `json:"key"`
	Requests int64  `json:"requests,omitempty"`
	Cost     int64  `json:"cost,omitempty"`
}

// tell notes what the others are to be told. It is called with mu held.
func (l *Limiter) tell(k key, u *usage, n counts) {
	if l.bus == nil || len(l.dirty) >= l.opts.Callers {
		return
	}
	if u.untold == (counts{}) {
		l.dirty = append(l.dirty, k)
	}
	u.untold.requests += n.requests
	u.untold.cost += n.cost
}

// Run tells the other processes what this one counts, takes in what they tell,
// and forgets idle callers, until ctx ends; then it returns nil. While the bus
// is away each process counts alone.
func (l *Limiter) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var failed error
	if l.bus != nil {
		wg.Go(func() {
			defer cancel()
			failed = l.bus.Subscribe(ctx, l.bus.Subjects().Control("usage"), nil, func(m bus.Message) { l.hear(m.Data) })
		})
	}
	tell, sweep := time.NewTicker(tellEvery), time.NewTicker(sweepEvery)
	defer tell.Stop()
	defer sweep.Stop()
	for ctx.Err() == nil {
		select {
		case <-tell.C:
			l.publish(ctx)
		case now := <-sweep.C:
			l.sweep(now)
		case <-ctx.Done():
		}
	}
	wg.Wait()
	return failed
}

// publish tells the others what they do not know.
func (l *Limiter) publish(ctx context.Context) {
	for {
		r, more := l.report()
		if len(r.Used) == 0 && !more {
			return
		}
		data, err := json.Marshal(r)
		if err == nil {
			err = l.bus.Publish(l.bus.Subjects().Control("usage"), nil, data)
		}
		if err != nil { // each counts alone meanwhile
			l.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "usage not shared", slog.Any("error", err))
		}
	}
}

// report takes some of what is to be told.
func (l *Limiter) report() (r report, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.dirty), maxTold)
	r = report{From: l.id, Used: make([]spent, 0, n)}
	for _, k := range l.dirty[:n] {
		u := l.used[k]
		if u == nil || u.untold == (counts{}) {
			continue // forgotten meanwhile
		}
		text, _ := k.MarshalText() // which cannot fail
		r.Used = append(r.Used, spent{Key: string(text), Requests: u.untold.requests, Cost: u.untold.cost})
		u.untold = counts{}
	}
	l.dirty = append(l.dirty[:0], l.dirty[n:]...)
	return r, len(l.dirty) > 0
}

// hear takes in what another process tells. What is not of the form is passed over.
func (l *Limiter) hear(data []byte) {
	var r report
	if json.Unmarshal(data, &r) != nil || r.From == l.id {
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range r.Used {
		k, ok := parseKey(s.Key)
		if !ok || s.Requests < 0 || s.Cost < 0 || l.rates[k.class] == (Rate{}) {
			continue
		}
		n := counts{min(s.Requests, maxCount), min(s.Cost, maxCount)}
		l.at(k, now).add(l.rates[k.class], n, l.moment(now))
	}
}

package proc_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/internal/proc"
)

func drain(t *testing.T, d *proc.Drain, query string) (status int, said proc.Drained) {
	t.Helper()
	route := d.Route()
	mux := http.NewServeMux()
	mux.Handle(route.Pattern, route.Handler)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/drain"+query, nil))
	if w.Code < 400 {
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
	}
	return w.Code, said
}

func TestADrainIsAskedForByTheAdminPort(t *testing.T) {
	t.Parallel()
	var left atomic.Int64
	left.Store(3)
	d := proc.NewDrain(func() int { return int(left.Load()) })
	if route := d.Route(); route.Open {
		t.Error("anybody may drain the process")
	}
	if status, _ := drain(t, d, "?wait=soon"); status != http.StatusBadRequest || d.Wanted() {
		t.Errorf("a wait that is no time: %d, begun %v", status, d.Wanted())
	}
	for range 2 { // again is harmless
		if status, said := drain(t, d, ""); status != http.StatusAccepted || said != (proc.Drained{Draining: true, Remaining: 3}) {
			t.Errorf("%d %+v", status, said)
		}
	}
	if status, said := drain(t, d, "?wait=1ms"); status != http.StatusAccepted || said.Done {
		t.Errorf("after a wait that was too short: %d %+v", status, said)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if status, said := drain(t, d, "?wait"); status != http.StatusOK || said != (proc.Drained{Draining: true, Done: true}) {
			t.Errorf("who waited is told %d %+v", status, said)
		}
	})
	d.Run(func() { left.Store(0) })
	waiting.Wait()
	if status, said := drain(t, d, ""); status != http.StatusOK || !said.Done {
		t.Errorf("who comes late is told %d %+v", status, said)
	}
}

// The drain that somebody asked for is not done again by the signal that follows,
// and until that the process answers.
func TestAServerThatWasDrainedAnswersUntilItEnds(t *testing.T) {
	t.Parallel()
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d, drained := proc.NewDrain(func() int { return 0 }), 0
	ended := make(chan error, 1)
	go func() {
		ended <- proc.ServeHTTP(ctx, silent, l, http.NotFoundHandler(), d, func(_ context.Context, goAway func()) {
			goAway()
			drained++
		})
	}()
	d.Begin()
	<-d.Done()
	if status, _ := get(t, "http://"+l.Addr().String()); status != http.StatusNotFound {
		t.Errorf("a request to a server that was drained: %d", status)
	}
	cancel()
	if err := <-ended; err != nil || drained != 1 {
		t.Errorf("drained %d times, %v", drained, err)
	}
}

func TestADrainIsMeasured(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	d := proc.NewDrain(func() int { return 7 })
	d.Measure(m)
	for _, want := range [][]string{{"tidings_draining 0", "tidings_drain_remaining 0"}, {"tidings_draining 1", "tidings_drain_remaining 7"}} {
		text := scraped(t, m)
		for _, line := range want {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%q is not in\n%s", line, text)
			}
		}
		d.Begin()
	}
}

//go:build conformance

package processes

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// While the servers of the bus choose another leader every process is ready, or a
// load balancer would leave nobody to ask. When the bus is away for longer than
// that they say so, stay alive, and are ready as soon as it is back.
func TestAnElectionMakesNoProcessUnready(t *testing.T) {
	bus := startBus3(t)
	c := &cluster{data: t.TempDir(), bus: bus.url}
	env := []string{"TIDINGS_NATS_URL=" + bus.url, "TIDINGS_REPLICAS=3"}
	var all []*process
	for i := range 2 {
		c.workers = append(c.workers, startWorker(t, fmt.Sprintf("worker %d", i+1), c.data, env))
		c.apis = append(c.apis, startAPI(t, fmt.Sprintf("api %d", i+1), c.data, env))
		all = append(all, c.workers[i], c.apis[i].process)
	}
	author := c.authors(t, 1)[0]
	w := &steadyWriter{apis: c.apis, token: author, ledger: newLedger()}
	written := func() {
		t.Helper()
		poll(t, patience, "a post is made", func() error { return w.write(t.Context(), "") })
	}
	written()
	watch := watchProbes(t, all)
	for _, leads := range []string{"the log", "the servers"} {
		var leader *process
		poll(t, patience, "somebody leads "+leads, func() error {
			if leader = bus.leads(t, leads == "the servers"); leader == nil {
				return fmt.Errorf("nobody does")
			}
			return nil
		})
		leader.kill(t)
		began := time.Now()
		written()
		t.Logf("%s led %s; a post was made %s after it was killed", leader.name, leads, time.Since(began))
		leader.restart(t)
		bus.waitHealthy(t, patience)
		written()
	}
	asked, unready, dead := watch.end()
	t.Logf("%d probes", asked)
	if len(unready) > 0 || len(dead) > 0 {
		t.Errorf("of %d probes these have failed: /readyz %v, /livez %v", asked, unready, dead)
	}

	for _, p := range bus.all {
		p.kill(t)
	}
	watch = watchProbes(t, all)
	for _, p := range all {
		poll(t, time.Minute, p.name+" says that the bus is away", func() error {
			status, body := fetch(t, p.ready, anybody, "")
			if status != http.StatusServiceUnavailable || !strings.Contains(body, "bus") {
				return fmt.Errorf("%d %s", status, body)
			}
			return nil
		})
	}
	for _, p := range bus.all {
		p.run(t)
	}
	bus.waitHealthy(t, patience)
	began := time.Now()
	for _, p := range all {
		p.waitReady(t)
	}
	t.Logf("all were ready %s after the bus was", time.Since(began))
	if asked, _, dead := watch.end(); len(dead) > 0 {
		t.Errorf("of %d probes of /livez these have failed: %v", asked, dead)
	}
	written()
}

// probes asks processes again and again whether they are ready, and alive.
type probes struct {
	wg   sync.WaitGroup
	stop chan struct{}

	mu            sync.Mutex
	asked         int
	unready, dead []string
}

func watchProbes(t testing.TB, all []*process) *probes {
	w := &probes{stop: make(chan struct{})}
	for _, p := range all {
		for _, path := range []string{"/readyz", "/livez"} {
			w.wg.Go(func() {
				every := time.NewTicker(50 * time.Millisecond)
				defer every.Stop()
				for {
					select {
					case <-w.stop:
						return
					case <-every.C:
					}
					w.note(p.name, path)(fetch(t, p.adminPort()+path, anybody, ""))
				}
			})
		}
	}
	t.Cleanup(func() { w.end() })
	return w
}

func (w *probes) note(name, path string) func(int, string) {
	return func(status int, body string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked++
		switch {
		case status == http.StatusOK:
		case path == "/livez":
			w.dead = append(w.dead, fmt.Sprintf("%s: %d %s", name, status, body))
		default:
			w.unready = append(w.unready, fmt.Sprintf("%s: %d %s", name, status, body))
		}
	}
}

// end stops asking; again it does nothing.
func (w *probes) end() (asked int, unready, dead []string) {
	w.mu.Lock()
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.mu.Unlock()
	w.wg.Wait()
	return w.asked, w.unready, w.dead
}

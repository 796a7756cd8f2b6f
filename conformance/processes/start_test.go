//go:build conformance

package processes

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Processes that start before the bus wait for it: they say what they wait for,
// are alive, and serve as soon as it is there.
func TestProcessesWaitForTheBus(t *testing.T) {
	t.Parallel()
	addr, monitor := freePort(t), freePort(t)
	env := []string{"TIDINGS_NATS_URL=nats://" + addr, "TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32)}
	var all []*process
	run := func(name string, args ...string) *process {
		admin := freePort(t)
		p := start(t, &process{name: name, env: env, args: append([]string{"--schema", social(t), "--admin", admin}, args...)})
		p.ready = "http://" + admin + "/readyz"
		all = append(all, p)
		return p
	}
	a := &api{process: run("api", "--listen", freePort(t), "--drain-delay", "0s")}
	a.url = "http://" + a.args[len(a.args)-3]
	run("worker")
	gone := run("worker told to end")
	for _, p := range all {
		poll(t, patience, p.name+" says what it waits for", func() error {
			for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/startupz": 503} {
				status, body := fetch(t, p.adminPort()+path, anybody, "")
				if status != want || want == 503 && !strings.Contains(body, "is the server running") {
					return fmt.Errorf("%s: %d %s", path, status, body)
				}
			}
			return nil
		})
	}
	gone.terminate(t)
	if code := gone.exit(t, patience); code != 0 {
		t.Errorf("one that is told to end while it waits ends with status %d", code)
	}
	_, port, _ := net.SplitHostPort(addr)
	_, monitorPort, _ := net.SplitHostPort(monitor)
	start(t, &process{
		name: "nats-server", ready: "http://" + monitor + "/healthz",
		args: []string{"-a", "127.0.0.1", "-p", port, "-m", monitorPort, "-js", "-sd", t.TempDir()},
	})
	for _, p := range all[:2] {
		p.waitReady(t)
		if status, body := fetch(t, p.adminPort()+"/startupz", anybody, ""); status != http.StatusOK {
			t.Errorf("/startupz of %s says %d %s", p.name, status, body)
		}
	}
	poll(t, patience, "it serves", func() error {
		_, err := post(t.Context(), a.url, anybody, call{Query: `{ posts(first: 1) { nodes { id } } }`})
		return err
	})
	for _, p := range all[:2] {
		p.terminate(t)
		if code := p.exit(t, patience); code != 0 {
			t.Errorf("%s ends with status %d", p.name, code)
		}
	}
}

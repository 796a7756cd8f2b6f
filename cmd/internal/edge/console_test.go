package edge

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/cmd/internal/boot"
	"tidings/console"
	"tidings/internal/proc"
	"tidings/schema"
)

// Where the settings want it the console of an api shows the worker beside it, the
// log and the view, to administrators; elsewhere there is none.
func TestTheConsoleShowsTheWholeServiceWhereItIsWanted(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	environ := []string{"TIDINGS_NATS_URL=" + b.URL(), "TIDINGS_JWT_SECRET=" + secretOfTests}
	worker := openRooms(t, environ, boot.Role{Writes: true})
	log := slog.New(slog.DiscardHandler)
	for _, wanted := range []bool{false, true} {
		settings := environ
		if wanted {
			settings = append(settings, "TIDINGS_CONSOLE=true")
		}
		api := openRooms(t, settings, boot.Role{Edge: true})
		e, err := newEdge(api.config, api.Rooms, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.hub.Close() })
		admin, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.openConsole(api.config, admin); err != nil {
			t.Fatal(err)
		}
		serve(t, func(ctx context.Context) error {
			return proc.Admin(ctx, log, admin, e.ready, append(api.Routes(), e.console.Routes()...)...)
		})
		url := "http://" + admin.Addr().String() + "/console"
		if !wanted {
			resp, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 404 || e.consoleURL != "" {
				t.Errorf("a console that nobody wants: %d %q", resp.StatusCode, e.consoleURL)
			}
			continue
		}
		runRooms(t, worker.Rooms)
		runRooms(t, api.Rooms)
		serve(t, e.console.Run)
		seen, err := console.New(console.Options{Bus: worker.Bus, Metrics: worker.Metrics, Ready: worker.Ready, Role: "worker"})
		if err != nil {
			t.Fatal(err)
		}
		serve(t, seen.Run)
		watchConsole(t, url+"/graphql")
	}
}

// serve runs a part until the test ends.
func serve(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var part sync.WaitGroup
	part.Go(func() {
		if err := run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); part.Wait() })
}

// watchConsole reads what the console tells until it shows both processes and the log.
func watchConsole(t *testing.T, url string) {
	t.Helper()
	token, err := auth.Sign([]byte(secretOfTests), auth.Principal{Subject: "root", Roles: schema.Admin}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(`{"query":"subscription { overview { processes { role ready busConnected viewLag } log { leader last } } }"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	last := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		var m struct {
			Data struct {
				Overview struct {
					Processes []struct {
						Role                string
						Ready, BusConnected bool
						ViewLag             *float64
					}
					Log struct {
						Leader bool
						Last   float64
					}
				}
			}
		}
		if !is || json.Unmarshal([]byte(data), &m) != nil {
			continue
		}
		last = data
		o := m.Data.Overview
		if len(o.Processes) == 2 && o.Processes[0].Role == "api" && o.Processes[1].Role == "worker" && o.Processes[0].Ready && o.Processes[1].Ready &&
			o.Processes[0].BusConnected && o.Processes[0].ViewLag != nil && *o.Processes[0].ViewLag == 0 && o.Log.Leader && o.Log.Last > 0 {
			return
		}
	}
	t.Fatalf("%d; the last was %s", resp.StatusCode, last)
}

package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
	"tidings/schema"
)

const secretOfTests = "a secret of at least thirty-two bytes"

// counted is an api with a worker beside it, on a bus, and what each counts.
type counted struct {
	url         string
	api, worker *proc.Metrics
	bus         *bus.Bus
	stopWorker  func()
}

func count(t *testing.T, settings ...string) *counted {
	t.Helper()
	b := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	environ := append([]string{"TIDINGS_NATS_URL=" + b.URL(), "TIDINGS_JWT_SECRET=" + secretOfTests, "TIDINGS_MAX_SOCKETS=-1"}, settings...)
	c := &counted{bus: b}
	worker := openRooms(t, environ, boot.Role{Writes: true})
	api := openRooms(t, environ, boot.Role{Edge: true})
	e, err := newEdge(api.config, api.Rooms, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c.api, c.worker = api.Metrics, worker.Metrics
	c.stopWorker = runRooms(t, worker.Rooms)
	runRooms(t, api.Rooms)
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = e.hub.Close() })
	c.url = srv.URL
	return c
}

type configured struct {
	*boot.Rooms
	config boot.Config
}

func openRooms(t *testing.T, environ []string, role boot.Role) configured {
	t.Helper()
	c, err := boot.ReadConfig("api", []string{"--schema", social, "--public-url", "http://localhost"}, environ, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := boot.Open(t.Context(), c, role, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			t.Error(err)
		}
	})
	return configured{rooms, c}
}

// runRooms runs the parts of a process until it is stopped, or the test ends.
func runRooms(t *testing.T, rooms *boot.Rooms) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := proc.Run(ctx, slog.New(slog.DiscardHandler), rooms.Parts()...); err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	if err := rooms.Started(t.Context()); err != nil {
		t.Fatal(err)
	}
	return stop
}

// ask sends an operation of an administrator and returns the code of its first
// error, OK without one.
func (c *counted) ask(t *testing.T, subject, query string) string {
	t.Helper()
	token, err := auth.Sign([]byte(secretOfTests), auth.Principal{Subject: subject, Roles: schema.User | schema.Admin}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", c.url+"/graphql", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Errors []struct{ Extensions struct{ Code string } }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(answer.Errors) > 0 {
		return answer.Errors[0].Extensions.Code
	}
	return "OK"
}

// createUser creates the user of that number.
func (c *counted) createUser(t *testing.T, n int) string {
	t.Helper()
	return c.ask(t, fmt.Sprint("user", n), fmt.Sprintf(`mutation { createUser(input: {name: "n%d", email: "n%d@example.com"}) { id } }`, n, n))
}

// until waits for numbers: some are counted a moment after an answer.
func until(t *testing.T, m *proc.Metrics, want proctest.Numbers) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		n, wrong := proctest.Scrape(t, m), false
		for series, value := range want {
			wrong = wrong || n[series] != value
		}
		if !wrong {
			return
		}
		if time.Now().After(deadline) {
			n.Expect(t, want)
			return
		}
		<-tick.C
	}
}

func TestCommandsAreCountedAtBothEnds(t *testing.T) {
	t.Parallel()
	c := count(t)
	proctest.Scrape(t, c.worker).Expect(t, proctest.Numbers{`tidings_commands_total{code="OK",type="User",verb="create"}`: 0})
	for n := range 5 {
		if code := c.createUser(t, n); code != "OK" {
			t.Fatal(code)
		}
	}
	for range 2 {
		if code := c.createUser(t, 0); code != "CONFLICT" {
			t.Error(code)
		}
	}
	until(t, c.worker, proctest.Numbers{
		`tidings_commands_total{code="OK",type="User",verb="create"}`: 5, `tidings_commands_total{code="CONFLICT",type="User",verb="create"}`: 2,
	})
	until(t, c.api, proctest.Numbers{
		`tidings_command_seconds_count{outcome="ok",verb="create"}`: 5, `tidings_command_seconds_count{outcome="refused",verb="create"}`: 2,
		`tidings_command_seconds_count{outcome="timeout",verb="create"}`: 0, `tidings_commands_waiting`: 0, `tidings_command_retries_total`: 0,
		`tidings_bus_connected`: 1, `tidings_bus_reconnects_total`: 0, `tidings_breaker_open{call="tidings.cmd.User"}`: 0, `tidings_ready`: 1,
	})
}

// A command that finds no worker waits, and is counted as waiting meanwhile.
func TestCommandsThatWaitForAWorkerAreCounted(t *testing.T) {
	t.Parallel()
	c := count(t, "TIDINGS_RETRY=2s")
	c.stopWorker()
	answered := make(chan string)
	go func() { answered <- c.createUser(t, 1) }()
	until(t, c.api, proctest.Numbers{`tidings_commands_waiting`: 1})
	if code := <-answered; code != "UNAVAILABLE" {
		t.Error(code)
	}
	n := proctest.Scrape(t, c.api)
	n.Expect(t, proctest.Numbers{`tidings_commands_waiting`: 0, `tidings_command_seconds_count{outcome="unavailable",verb="create"}`: 1})
	if n["tidings_command_retries_total"] == 0 {
		t.Error("it was sent once")
	}
	var wg sync.WaitGroup
	for n := range 10 {
		wg.Go(func() { c.createUser(t, n) })
	}
	until(t, c.api, proctest.Numbers{`tidings_breaker_open{call="tidings.cmd.User"}`: 1})
	wg.Wait()
	until(t, c.api, proctest.Numbers{`tidings_commands_waiting`: 0})
}

package boot_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
	"weak"

	"tidings/auth"
	"tidings/cmd/internal/boot"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/realtime"
	"tidings/schema"
	"tidings/view"
)

// The schemas that a test reloads by turns: the second one needs another view.
var turns = []string{
	`type Note @resource @auth(requires: [USER]) { id: ID! text: String! }`,
	`type Note @resource @auth(requires: [USER]) { id: ID! text: String! @index }`,
	`type Note @resource @auth(requires: [USER, ADMIN]) { id: ID! text: String! @index }`,
}

// house is a process's rooms while they run.
type house struct {
	*boot.Rooms
	schema, data string

	mu      sync.Mutex
	console []byte
}

// Write is the console's.
func (h *house) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.console = append(h.console, text...)
	return len(text), nil
}

// told is what a person has read on the console.
func (h *house) told() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.console)
}

func open(t *testing.T) *house {
	t.Helper()
	h := prepared(t)
	h.run(t)
	return h
}

// prepared are rooms that do not run yet.
func prepared(t *testing.T, settings ...string) *house {
	t.Helper()
	h := &house{schema: t.TempDir(), data: t.TempDir()}
	h.write(t, turns[0])
	c, _, err := read(append([]string{"--dev", "--schema", h.schema, "--data", h.data, "--public-url", "http://localhost"}, settings...), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Rooms, err = boot.Open(t.Context(), c, boot.Role{Writes: true, Edge: true, Terminal: h}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) run(t *testing.T) *realtime.Hub {
	t.Helper()
	now, done := h.Use()
	hub := realtime.NewHub(now.Engine, h.Verifier, realtime.Options{})
	done()
	h.OnReload(func(e *graphql.Engine, between func()) { hub.Switch(e, between) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proc.Run(ctx, slog.New(slog.DiscardHandler), h.Parts()...) }()
	t.Cleanup(func() {
		cancel()
		for _, err := range []error{hub.Close(), <-ended, h.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	if err := h.Started(t.Context()); err != nil {
		t.Fatal(err)
	}
	return hub
}

func (h *house) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.schema, "s.graphql"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *house) model() *schema.Model {
	e, done := h.Use()
	defer done()
	return e.Model
}

// reload writes another schema, asks for it, and waits until it is in service.
func (h *house) reload(t *testing.T, text string) {
	t.Helper()
	before := h.model()
	h.write(t, text)
	h.hangup(t)
	until(t, "the schema is reloaded", func() bool { return h.model() != before })
}

func (h *house) hangup(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

func (h *house) execute(t *testing.T, query string) string {
	t.Helper()
	e, done := h.Use()
	defer done()
	return string(e.Engine.Execute(t.Context(), auth.Principal{Subject: "ada", Roles: schema.User}, graphql.Request{Query: query}).Body)
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("it never happened that %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
		<-tick.C
	}
}

// Not parallel: it sends signals to this process and counts its goroutines.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	h := open(t)
	if got, want := h.execute(t, `mutation { createNote(input: {text: "kept"}) { text } }`), `{"data":{"createNote":{"text":"kept"}}}`; got != want {
		t.Fatal(got)
	}
	h.reload(t, turns[1])
	h.reload(t, turns[0])
	before := runtime.NumGoroutine()
	old := weak.Make(h.model())
	for i := range 20 {
		h.reload(t, turns[(i+1)%len(turns)])
		if got := h.execute(t, `{ notes { nodes { text } } }`); got != `{"data":{"notes":{"nodes":[{"text":"kept"}]}}}` {
			t.Fatalf("after %d reloads: %s", i+1, got)
		}
	}
	until(t, "the goroutines of old editions end", func() bool { return runtime.NumGoroutine() <= before+2 })
	until(t, "the memory of old editions is free", func() bool { runtime.GC(); return old.Value() == nil })
	until(t, "the views of old editions are deleted", func() bool {
		views, err := os.ReadDir(filepath.Join(h.data, "view"))
		return err == nil && len(views) == 1
	})
}

func TestTheViewOfAnotherSchemaIsDeletedAtTheStart(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	for _, text := range turns[:2] {
		if err := os.WriteFile(filepath.Join(dir, "s.graphql"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := read([]string{"--dev", "--schema", dir, "--data", data}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := boot.Open(t.Context(), c, boot.Role{Writes: true}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		views, err := os.ReadDir(filepath.Join(data, "view"))
		if err != nil || len(views) != 1 {
			t.Errorf("the views are %v, %v", views, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The view of the next schema cannot be filled: whatever the reason is, the
// process goes on with the schema that it has.
func TestAnEditionThatFailsBeforeItServesIsRefused(t *testing.T) {
	h := open(t)
	h.execute(t, `mutation { createNote(input: {text: "kept"}) { text } }`)
	next, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(turns[1])}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(strings.ReplaceAll(turns[1], "Note", "Other"))}})
	if err != nil {
		t.Fatal(err)
	}
	other.Fingerprint = next.Fingerprint // its tables are not those of the next schema
	broken, err := view.Open(t.Context(), other, h.Bus.LogID(), view.Options{Dir: filepath.Join(h.data, "view", next.Fingerprint[:16])})
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Close(); err != nil {
		t.Fatal(err)
	}
	h.write(t, turns[1])
	h.hangup(t)
	until(t, "it is refused", func() bool { return strings.Contains(h.told(), "no such table") })
	if got := h.execute(t, `mutation { createNote(input: {text: "still"}) { text } }`); got != `{"data":{"createNote":{"text":"still"}}}` {
		t.Error(got)
	}
	h.reload(t, turns[2]) // by now there is a good place for the view
	if got := h.execute(t, `{ notes { nodes { text } } }`); got != `{"data":{"notes":{"nodes":[{"text":"kept"},{"text":"still"}]}}}` {
		t.Error(got)
	}
}

// A signal that comes while the process starts is not forgotten: the schema may
// have been read already.
func TestAHangupDuringTheStartIsCarriedOutAfterIt(t *testing.T) {
	h := prepared(t)
	was := h.model()
	h.write(t, turns[1])
	h.hangup(t)
	h.run(t)
	until(t, "the schema is reloaded", func() bool { return h.model() != was })
}

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tidings/bus"
	"tidings/cmd/internal/boot"
)

// Processes that may not create streams, and start before anybody has, wait: they say
// what for and how it comes about, and go on as soon as it has.
func TestProcessesWaitUntilTheBusIsSetUp(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	roles := map[string]boot.Role{"api": {Edge: true}, "worker": {Writes: true}}
	opened := make(chan error)
	for name, role := range roles {
		told := g.opening(t, t.Context(), name, name, role, opened)
		select {
		case why := <-told:
			if !errors.Is(why, bus.ErrNotSetUp) || !strings.Contains(why.Error(), "api bus setup") || !strings.Contains(why.Error(), "tidings-log") {
				t.Errorf("%s waits: %v", name, why)
			}
		case err := <-opened:
			t.Fatalf("%s does not wait: %v", name, err)
		case <-time.After(time.Minute):
			t.Fatalf("%s never says what it waits for", name)
		}
	}
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	for range roles {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
}

// A process that is told to end while it waits ends, and one that lacks a permission
// does not wait.
func TestOnlyTimeIsWaitedForAndNotForEver(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	opened := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	<-g.opening(t, ctx, "worker", "worker", boot.Role{Writes: true}, opened)
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Errorf("told to end: %v", err)
	}
	g.opening(t, t.Context(), "worker", "api", boot.Role{Writes: true}, opened)
	if err := <-opened; !errors.Is(err, bus.ErrDenied) || errors.Is(err, bus.ErrNotSetUp) {
		t.Errorf("with the credentials of another role: %v", err)
	}
}

// opening opens the rooms of a role as a process does that waits, with the
// credentials of one. It returns what tells why it waits, once.
func (g *guarded) opening(t *testing.T, ctx context.Context, name, credentials string, role boot.Role, opened chan<- error) (told chan error) {
	t.Helper()
	c, err := boot.ReadConfig(name, []string{"--dev", "--schema", social, "--data", t.TempDir(), "--admin", ""}, g.environ(credentials), func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	c.PublicURL = "http://127.0.0.1"
	told = make(chan error, 1)
	role.Waiting = func(why error) {
		select {
		case told <- why:
		default:
		}
	}
	go func() {
		rooms, err := boot.Open(ctx, c, role, slog.New(slog.DiscardHandler))
		if err == nil {
			err = rooms.Close()
		}
		opened <- err
	}()
	return told
}

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/internal/proc/proctest"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// A worker may store snapshots of its view, and an api begin with them, with the
// permissions of deploy/nats.
func TestThePermissionsAreEnoughForSnapshots(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	model, err := schema.Load(os.DirFS(social))
	if err != nil {
		t.Fatal(err)
	}
	log := new(proctest.Log)
	logger := slog.New(slog.NewTextHandler(log, nil))
	// start runs what reads the log, in a role and with a view of its own.
	start := func(role string) (*bus.Bus, *view.View, *resource.Feed, *resource.Snapshots) {
		b, err := bus.Open(t.Context(), bus.Options{URL: g.ClientURL(), Inbox: "_INBOX_tidings_" + role, Access: bus.Access{User: role, Password: role + "-password"}, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close(context.Background()) })
		v, err := view.Open(t.Context(), model, b.LogID(), view.Options{Dir: filepath.Join(t.TempDir(), "view")})
		if err != nil {
			t.Fatal(err)
		}
		s := resource.NewSnapshots(b, model.Fingerprint, logger)
		f := resource.NewFeed(b, model, v, resource.FeedOptions{FillAfter: 1, Snapshots: s, Logger: logger})
		background(t, f.Run)
		return b, v, f, s
	}
	b, v, f, s := start("worker")
	for i := range 20 {
		id := fmt.Sprint("u", i)
		if _, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("User", id), Header: bus.Header{"Tidings-Kind": {"CREATED"}},
			Data: fmt.Appendf(nil, `{"id":%q,"name":"n","email":"%s@example.org"}`, id, id)}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := resource.OpenSnapshotMaker(t.Context(), s, v, f, resource.SnapshotOptions{Every: time.Nanosecond, Changes: 20, Look: 10 * time.Millisecond, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	background(t, m.Run)
	store := b.Objects(bus.ObjectsOptions{Name: resource.SnapshotStore})
	count := func() int {
		list, err := store.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	wait(t, "there is a snapshot", func() bool { return count() == 1 })
	_, other, feed, _ := start("api")
	<-feed.Ready()
	if n, err := other.Count(t.Context(), "User", nil, ""); n != 20 || err != nil || !strings.Contains(log.String(), "begins with a snapshot") {
		t.Errorf("%d users, %v; the log:\n%s", n, err, log)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.denied) > 0 {
		t.Errorf("the server denied:\n%s", strings.Join(g.denied, "\n"))
	}
}

// background runs a part until the test ends.
func background(t *testing.T, part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := part(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

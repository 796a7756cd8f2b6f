// Package resourcetest gives tests a running service below the bindings: a
// real bus in memory, a worker, a feed and its view.
package resourcetest

import (
	"context"
	"io/fs"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
	"tidings/view/viewtest"
)

// Service is what runs. Everything ends with the test.
type Service struct {
	Bus    *bus.Bus
	Model  *schema.Model
	View   View
	Feed   *resource.Feed
	Client *resource.Client
}

// View is a view that can be closed before the test ends.
type View interface {
	resource.View
	Close() error
}

// New starts a service with the schema in dir.
func New(t testing.TB, dir fs.FS) *Service {
	t.Helper()
	return On(t, bustest.New(t), dir, resource.FeedOptions{})
}

// On starts a service on a bus that the test made, with a worker of its own.
func On(t testing.TB, b *bus.Bus, dir fs.FS, o resource.FeedOptions) *Service {
	t.Helper()
	s := Reader(t, b, dir, o)
	w := resource.NewWorker(b, s.Model, resource.WorkerOptions{Reads: s.Client})
	Run(t, "worker", w.Run)
	select {
	case <-w.Ready():
	case <-time.After(30 * time.Second):
		t.Fatal("the worker did not start")
	}
	return s
}

// Reader starts a feed and its view on a bus, without a worker.
func Reader(t testing.TB, b *bus.Bus, dir fs.FS, o resource.FeedOptions) *Service {
	t.Helper()
	m, err := schema.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := open(t, b, m)
	f := resource.NewFeed(b, m, v, o)
	Run(t, "feed", f.Run)
	select {
	case <-f.Ready():
	case <-time.After(30 * time.Second):
		t.Fatal("the feed did not catch up")
	}
	return &Service{Bus: b, Model: m, View: v, Feed: f, Client: resource.NewClient(b, m, v, f)}
}

// open opens a view: a file, or tables that a projector fills where there is a
// PostgreSQL for tests.
func open(t testing.TB, b *bus.Bus, m *schema.Model) View {
	t.Helper()
	if viewtest.Enabled() {
		return OpenShared(t, b, m, viewtest.Options(t))
	}
	v, err := view.Open(t.Context(), m, b.LogID(), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// OpenShared opens a shared view and starts a projector that fills it.
func OpenShared(t testing.TB, b *bus.Bus, m *schema.Model, o view.SharedOptions) *view.Shared {
	t.Helper()
	v, err := view.OpenShared(m, b.LogID(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	Run(t, "projector", resource.Projector{Bus: b, Model: m, View: o}.Run)
	return v
}

// Run starts a part and waits for its end with the test.
func Run(t testing.TB, name string, part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := part(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

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
)

// Service is what runs. Everything ends with the test.
type Service struct {
	Bus    *bus.Bus
	Model  *schema.Model
	View   *view.View
	Feed   *resource.Feed
	Client *resource.Client
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
	v, err := view.Open(t.Context(), m, b.LogID(), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	f := resource.NewFeed(b, m, v, o)
	Run(t, "feed", f.Run)
	select {
	case <-f.Ready():
	case <-time.After(30 * time.Second):
		t.Fatal("the feed did not catch up")
	}
	return &Service{Bus: b, Model: m, View: v, Feed: f, Client: resource.NewClient(b, m, v, f)}
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

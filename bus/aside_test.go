package bus_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
)

// One place, and a handler that waits for what only the next request brings.
func TestARequestThatWaitsLeavesItsPlaceToOthers(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	var atWork, most atomic.Int64
	enter := func() { most.Store(max(most.Load(), atWork.Add(1))) }
	come := make(chan struct{})
	handle := func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
		enter()
		defer atWork.Add(-1)
		if string(m.Data) == "wait" {
			atWork.Add(-1)
			bus.Aside(ctx, func() { <-come })
			enter()
		}
		return m.Data, nil, nil
	}
	ctx, stop := context.WithCancel(t.Context())
	started := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		err := b.Serve(ctx, bus.Service{Name: "s", Concurrency: 1, Started: func() { close(started) },
			Endpoints: []bus.Endpoint{{Name: "e", Subject: "s.e", Handle: handle}}})
		if err != nil {
			t.Error(err)
		}
	})
	<-started
	call := func(data string) {
		if m, err := b.Call(context.Background(), "s.e", nil, []byte(data)); err != nil || string(m.Data) != data {
			t.Errorf("%s: %q %v", data, m.Data, err)
		}
	}
	var waiting sync.WaitGroup
	for range 5 {
		waiting.Go(func() { call("wait") })
	}
	for range 20 {
		call("pass")
	}
	close(come)
	waiting.Wait()
	for range 20 {
		call("pass")
	}
	if most.Load() != 1 {
		t.Errorf("%d were at work at once", most.Load())
	}
	stop()
	running.Wait()
}

func TestAsideDoesNotOutliveItsService(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	started, waits := make(chan struct{}), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		_ = b.Serve(ctx, bus.Service{Name: "s", Started: func() { close(started) }, Endpoints: []bus.Endpoint{{Name: "e", Subject: "s.e",
			Handle: func(handling context.Context, m bus.Message) ([]byte, bus.Header, error) {
				bus.Aside(handling, func() { close(waits); <-ctx.Done() })
				return m.Data, nil, nil
			}}}})
	})
	<-started
	running.Go(func() {
		if _, err := b.Call(context.Background(), "s.e", nil, []byte("x")); err != nil {
			t.Error(err)
		}
	})
	<-waits
	stop()
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the service does not stop")
	}
}

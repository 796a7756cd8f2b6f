package bus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

func TestHearSaysWhenTheConnectionWasAway(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	url := server.URL()
	b := bustest.Open(t, bus.Options{URL: url, Memory: true})
	started, got, lost := make(chan struct{}), make(chan bus.Message, 10), make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- b.Hear(ctx, "telemetry.*.reading", func() { close(started) }, func(m bus.Message) { got <- m }, func() { lost <- struct{}{} })
	}()
	<-started
	if err := b.Tell(ctx, "", "telemetry.7.reading", nil, []byte("1")); err != nil {
		t.Fatal(err)
	}
	if m := <-got; m.Subject != "telemetry.7.reading" || string(m.Data) != "1" || len(lost) != 0 {
		t.Errorf("%+v, %d losses", m, len(lost))
	}
	closeBus(t, server)
	bustest.Open(t, bus.Options{Listen: strings.TrimPrefix(url, "nats://")})
	<-lost
	if err := b.Tell(ctx, "", "telemetry.8.reading", nil, []byte("2")); err != nil {
		t.Fatal(err)
	}
	if m := <-got; string(m.Data) != "2" {
		t.Errorf("%+v", m)
	}
	cancel()
	if err := <-ended; err != nil || len(lost) != 0 {
		t.Errorf("%v, %d more losses", err, len(lost))
	}
	if err := b.Hear(t.Context(), "a b", nil, nil, nil); !fault.Is(err, fault.BadUserInput) {
		t.Error(err)
	}
}

// What one slow listener loses is reported, and others hear it.
func TestHearSaysWhenItWasTooSlow(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	const total = 3 * bus.HeardMessages
	gate, begun, lost, last := make(chan struct{}), make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	heard, once := 0, sync.Once{}
	ended := make(chan error, 1)
	started := make(chan struct{}, 2)
	go func() {
		ended <- b.Hear(ctx, "flood", func() { started <- struct{}{} }, func(m bus.Message) {
			if heard++; heard == 1 {
				begun <- struct{}{}
				<-gate
			}
			if string(m.Data) == "last" {
				once.Do(func() { close(last) })
			}
		}, func() { lost <- struct{}{} })
	}()
	<-started
	for i := range total {
		if err := b.Publish("flood", nil, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	if err := b.Tell(ctx, "", "elsewhere", nil, nil); err != nil { // all is on its way
		t.Fatal(err)
	}
	close(gate)
	select {
	case <-lost:
	case <-time.After(20 * time.Second):
		t.Fatal("the loss was not reported")
	}
	until(t, "it goes on", func() bool {
		if err := b.Tell(ctx, "", "flood", nil, []byte("last")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-last:
			return true
		default:
			return false
		}
	})
	cancel()
	if err := <-ended; err != nil || heard >= total {
		t.Errorf("%v, heard %d", err, heard)
	}
}

func TestHearBeginsOnlyWhenTheBusIsThere(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	b := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- b.Hear(t.Context(), "x", func() { close(started) }, func(bus.Message) {}, nil) }()
	<-started
	closeBus(t, server)
	until(t, "the loss of the connection is noticed", func() bool { return b.Ready() != nil })
	if err := b.Hear(t.Context(), "x", nil, nil, nil); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	closeBus(t, b)
	if err := <-ended; !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the bus was closed: %v", err)
	}
}

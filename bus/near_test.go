package bus_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

func TestACallWithinAProcessDoesNotLeaveIt(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	defer serve(t, b, endpoint("create", nothing))()
	seen := tap(t, b, "tidings.cmd.>")
	if err := call(t, b, "tidings.cmd.User.create"); err != nil {
		t.Fatal(err)
	}
	if err := bus.Conn(b).Publish("tidings.cmd.mark", nil); err != nil {
		t.Fatal(err)
	}
	if m, err := seen.NextMsg(10 * time.Second); err != nil || m.Subject != "tidings.cmd.mark" {
		t.Errorf("%v, %v", m, err)
	}
}

// What one process has no worker for, another one does.
func TestACallGoesOverTheBusWhenNoWorkerIsFreeHere(t *testing.T) {
	t.Parallel()
	here := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	there := bustest.Open(t, bus.Options{URL: here.URL(), Memory: true})
	begun, gate := make(chan struct{}), make(chan struct{})
	stop := serve(t, here, endpoint("create", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
		begun <- struct{}{}
		<-gate
		return []byte("here"), nil, nil
	}))
	answers := make(chan string, 4)
	for range 4 {
		go func() {
			m, _ := here.Call(t.Context(), "tidings.cmd.User.create", nil, nil)
			answers <- string(m.Data)
		}()
		<-begun
	}
	defer serve(t, there, endpoint("create", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
		return []byte("there"), nil, nil
	}))()
	// The server deals to both queues; those that it gives to the busy one wait
	// there until the end.
	until(t, "the other process answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		m, err := here.Call(ctx, "tidings.cmd.User.create", nil, nil)
		return err == nil && string(m.Data) == "there"
	})
	go func() {
		for range begun { // what the server gave to the busy one
		}
	}()
	close(gate)
	for range 4 {
		if got := <-answers; got != "here" {
			t.Error(got)
		}
	}
	stop()
	close(begun)
}

// Calls before the service was there have opened the breaker, which does not
// know that this process answers by now.
func TestACallWaitsHereWhenTheBreakerIsOpen(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for range 20 {
		if err := call(t, b, "tidings.cmd.User.create"); !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
	}
	defer serve(t, b, endpoint("create", nothing))()
	var calls sync.WaitGroup
	for range 32 {
		calls.Go(func() {
			if err := call(t, b, "tidings.cmd.User.create"); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}

func TestAServiceThatStopsFinishesTheCallsOfItsProcess(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	begun, gate := make(chan struct{}), make(chan struct{})
	stop := serve(t, b, endpoint("slow", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
		begun <- struct{}{}
		<-gate
		return []byte("done"), nil, nil
	}))
	answer := make(chan bus.Message, 1)
	go func() {
		m, err := b.Call(t.Context(), "tidings.cmd.User.slow", nil, nil)
		if err != nil {
			t.Error(err)
		}
		answer <- m
	}()
	<-begun
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	until(t, "no more is taken", func() bool { return fault.Is(call(t, b, "$SRV.PING.test"), fault.Unavailable) })
	if err := call(t, b, "tidings.cmd.User.slow"); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	close(gate)
	if m := <-answer; string(m.Data) != "done" {
		t.Errorf("%q", m.Data)
	}
	<-stopped
}

// As over the bus: the handler may keep what it got, the caller may change what
// it sent.
func TestARequestWithinAProcessIsTheHandlersOwn(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	var kept []bus.Message
	stop := serve(t, b, endpoint("keep", func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
		kept = append(kept, m)
		return nil, bus.Header{"Answer": {"yes"}}, nil
	}))
	data, header := []byte("first"), bus.Header{"A": {"1"}}
	m, err := b.Call(t.Context(), "tidings.cmd.User.keep", header, data)
	if err != nil || m.Header.Get("Answer") != "yes" || m.Subject != "tidings.cmd.User.keep" {
		t.Fatalf("%+v, %v", m, err)
	}
	copy(data, "other")
	header.Set("A", "2")
	stop()
	if string(kept[0].Data) != "first" || kept[0].Header.Get("A") != "1" {
		t.Errorf("%s, %v", kept[0].Data, kept[0].Header)
	}
}

// Who has gone before a worker was given the request has not sent it.
func TestARequestOfACallerWhoHasGoneIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	var carried atomic.Int64
	stop := serve(t, b, endpoint("create", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
		carried.Add(1)
		return nil, nil, nil
	}))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	for range 20 {
		if _, err := b.Call(gone, "tidings.cmd.User.create", nil, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := b.Call(late, "tidings.cmd.User.create", nil, nil); !fault.Is(err, fault.Timeout) {
			t.Error(err)
		}
	}
	stop()
	if n := carried.Load(); n != 0 {
		t.Errorf("%d were carried out", n)
	}
}

// tap sees what passes over the server.
func tap(t *testing.T, b *bus.Bus, subject string) *nats.Subscription {
	t.Helper()
	sub, err := bus.Conn(b).SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return sub
}

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/internal/proc/proctest"
)

func TestAppendIsGuardedByTheSubjectsLastSequence(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects().Record("User", "1")
	one := mustAppend(t, b, bus.Entry{Subject: s, Data: []byte("a")})
	if _, err := b.Append(t.Context(), bus.Entry{Subject: s, Data: []byte("x")}); !errors.Is(err, bus.ErrConflict) {
		t.Fatalf("appending to a subject that is not empty: %v, want ErrConflict", err)
	}
	two := mustAppend(t, b, bus.Entry{Subject: s, Data: []byte("b"), After: one, Header: bus.Header{"Tidings-Kind": {"UPDATED"}}})
	m, err := b.Last(t.Context(), s)
	if err != nil || m == nil {
		t.Fatalf("last: %v, %v", m, err)
	}
	if m.Seq != two || m.Prev != one || string(m.Data) != "b" || m.Subject != s || m.Header.Get("Tidings-Kind") != "UPDATED" || len(m.Header) != 1 || time.Since(m.Time) > time.Minute {
		t.Fatalf("last: %+v", m)
	}
	if m, err := b.Last(t.Context(), b.Subjects().Record("User", "2")); m != nil || err != nil {
		t.Fatalf("last of nothing: %v, %v", m, err)
	}
}

func TestABatchIsStoredWhollyOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	x, y := b.Subjects().Record("User", "x"), b.Subjects().Unique("User", "email", "h")
	last := mustAppend(t, b, bus.Entry{Subject: x, Data: []byte("1")}, bus.Entry{Subject: y, Data: []byte("1")})
	if last != 2 {
		t.Fatalf("last sequence %d, want 2", last)
	}
	_, err := b.Append(t.Context(), bus.Entry{Subject: x, Data: []byte("2"), After: 1}, bus.Entry{Subject: y, Data: []byte("2"), After: 1})
	if !errors.Is(err, bus.ErrConflict) {
		t.Fatalf("a batch with one wrong sequence: %v, want ErrConflict", err)
	}
	if _, end, err := b.State(t.Context()); end != 2 || err != nil {
		t.Fatalf("the log ends at %d (%v), want 2", end, err)
	}
	for _, s := range []string{x, y} {
		if m, err := b.Last(t.Context(), s); err != nil || string(m.Data) != "1" {
			t.Fatalf("%s: %v, %v", s, m, err)
		}
	}
}

func TestFollowHandsOverWhatIsStoredAndWhatComes(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects()
	for i := range 10 {
		mustAppend(t, b, bus.Entry{Subject: s.Record("User", fmt.Sprint(i))})
	}
	got := follow(t, b, 3)
	for want := uint64(4); want <= 10; want++ {
		expect(t, got, want)
	}
	for i := range 10 {
		want := mustAppend(t, b, bus.Entry{Subject: s.Record("Post", fmt.Sprint(i))})
		expect(t, got, want)
	}
}

func TestFollowEndsWithTheErrorOfItsFunction(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1")})
	boom := errors.New("boom")
	if err := b.Follow(t.Context(), 0, func(bus.Message) error { return boom }); err != boom {
		t.Fatalf("got %v, want boom as it is", err)
	}
}

func TestCallIsAnsweredByTheService(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, _ *proctest.Log) {
		subject := b.Subjects().Command("User", "create")
		stop := serve(t, server, bus.Endpoint{Name: "create", Subject: subject, Handle: func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
			if string(m.Data) == "no" {
				return nil, nil, fault.Input("input.email", "no such\nletters")
			}
			return append([]byte("re: "), m.Data...), bus.Header{"X": {m.Header.Get("X")}}, nil
		}})
		defer stop()
		m, err := b.Call(t.Context(), subject, bus.Header{"X": {"y"}}, []byte("hello"))
		if err != nil || string(m.Data) != "re: hello" || m.Header.Get("X") != "y" {
			t.Fatalf("%+v, %v", m, err)
		}
		_, err = b.Call(t.Context(), subject, nil, []byte("no"))
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.BadUserInput || f.Field != "input.email" || f.Message != "no such\nletters" {
			t.Fatalf("%v", err)
		}
	})
}

func mustAppend(t testing.TB, b *bus.Bus, entries ...bus.Entry) uint64 {
	t.Helper()
	seq, err := b.Append(t.Context(), entries...)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// follow runs a follower until the test ends and returns what it is handed.
func follow(t testing.TB, b *bus.Bus, after uint64) <-chan bus.Message {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	got, done := make(chan bus.Message, 10), make(chan error, 1)
	go func() {
		done <- b.Follow(ctx, after, func(m bus.Message) error {
			select {
			case got <- m:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("follow: %v", err)
		}
	})
	return got
}

func expect(t testing.TB, got <-chan bus.Message, seq uint64) bus.Message {
	t.Helper()
	select {
	case m := <-got:
		if m.Seq != seq {
			t.Fatalf("got message %d, want %d", m.Seq, seq)
		}
		return m
	case <-time.After(20 * time.Second):
		t.Fatalf("message %d did not come", seq)
	}
	panic("unreachable")
}

// serve runs a service and returns once it answers; stop ends it and waits.
func serve(t testing.TB, b *bus.Bus, eps ...bus.Endpoint) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		done <- b.Serve(ctx, bus.Service{
			Name: "test", Description: "a service under test", Concurrency: 4, Endpoints: eps,
			Started: func() { close(started) },
		})
	}()
	<-started
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
}

func call(t testing.TB, b *bus.Bus, subject string) error {
	_, err := b.Call(t.Context(), subject, nil, nil)
	return err
}

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// More batches at once than the server allows a stream: they take turns.
func TestManyBatchesAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects()
	var wg sync.WaitGroup
	for i := range 120 {
		wg.Go(func() {
			_, err := b.Append(t.Context(), bus.Entry{Subject: s.Record("User", fmt.Sprint(i))}, bus.Entry{Subject: s.Unique("User", "email", fmt.Sprint(i))})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, last, err := b.State(t.Context()); err != nil || last != 240 {
		t.Fatalf("the log ends at %d, %v", last, err)
	}
}

// Exactly one of those who reserve the same value gets it.
func TestOneOfManyConflictingBatchesWins(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects()
	var wg sync.WaitGroup
	won := make(chan int, 32)
	for i := range 32 {
		wg.Go(func() {
			_, err := b.Append(t.Context(), bus.Entry{Subject: s.Record("User", fmt.Sprint(i))}, bus.Entry{Subject: s.Unique("User", "email", "same")})
			switch {
			case err == nil:
				won <- i
			case !errors.Is(err, bus.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, last, err := b.State(t.Context()); len(won) != 1 || last != 2 || err != nil {
		t.Fatalf("%d won, the log ends at %d, %v", len(won), last, err)
	}
}

func TestAppendOfTooMuchIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	small := bus.Entry{Subject: b.Subjects().Record("User", "1")}
	big := bus.Entry{Subject: b.Subjects().Record("User", "2"), Data: make([]byte, 2<<20)}
	if _, err := b.Append(t.Context(), small, big); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("%v, want PAYLOAD_TOO_LARGE", err)
	}
	if _, err := b.Append(t.Context(), make([]bus.Entry, bus.MaxEntries+1)...); err == nil {
		t.Error("too many entries were taken")
	}
	if _, last, err := b.State(t.Context()); last != 0 || err != nil {
		t.Errorf("the log ends at %d, %v", last, err)
	}
}

func TestAppendWithoutALogIsUnavailable(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	dropStream(t, b)
	_, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("User", "1")})
	if !fault.Is(err, fault.Unavailable) || errors.Is(err, bus.ErrUnknownOutcome) {
		t.Fatalf("%v, want UNAVAILABLE", err)
	}
}

// Somebody took the entry and never acknowledged it: nobody can tell whether it
// is stored, and the caller must learn just that.
func TestAppendWithoutAnAcknowledgementHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	dropStream(t, b)
	sub, err := bus.Conn(b).Subscribe(b.Subjects().Log(), func(*nats.Msg) {})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = b.Append(ctx, bus.Entry{Subject: b.Subjects().Record("User", "1")})
	if !errors.Is(err, bus.ErrUnknownOutcome) || !fault.Is(err, fault.Timeout) {
		t.Fatalf("%v, want ErrUnknownOutcome and TIMEOUT", err)
	}
}

func TestAppendDoesNotChangeTheEntry(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	h := bus.Header{"A": {"b"}}
	mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1"), Header: h})
	if len(h) != 1 {
		t.Fatalf("the header is now %v", h)
	}
}

func TestAHeaderCannotBreakOutOfItsLine(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	subject := b.Subjects().Record("User", "1")
	mustAppend(t, b, bus.Entry{Subject: subject, Header: bus.Header{"A": {"b\r\nC: d"}}})
	m, err := b.Last(t.Context(), subject)
	if err != nil || m.Header.Get("C") != "" || !strings.HasPrefix(m.Header.Get("A"), "b") {
		t.Fatalf("%+v, %v", m, err)
	}
}

func dropStream(t testing.TB, b *bus.Bus) {
	t.Helper()
	js, err := jetstream.New(bus.Conn(b))
	if err == nil {
		err = js.DeleteStream(t.Context(), b.Subjects().Stream())
	}
	if err != nil {
		t.Fatal(err)
	}
}

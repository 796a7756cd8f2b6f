package bus_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// desk runs a desk until the test ends.
func desk(t *testing.T, b *bus.Bus, handle func(context.Context, bus.Message) ([]byte, error)) *bus.Desk {
	t.Helper()
	d := b.NewDesk(handle)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return d
}

func TestADeskAnswersItsSubjectsWhileTheyAreOpen(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	d := desk(t, b, func(_ context.Context, m bus.Message) ([]byte, error) {
		switch string(m.Data) {
		case "fault":
			return nil, &fault.Error{Code: fault.Conflict, Message: "taken", RetryAfter: 7}
		case "foreign":
			return nil, errors.New("hidden cause")
		case "panic":
			panic("hidden cause")
		}
		return []byte(m.Subject + " " + string(m.Data)), nil
	})
	one, two := b.Subjects().Control("test.one"), b.Subjects().Control("test.two")
	shut, err := d.Open(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{one, two} {
		if m, err := b.Reach(t.Context(), subject, []byte("x")); err != nil || string(m.Data) != subject+" x" {
			t.Errorf("%s: %s %v", subject, m.Data, err)
		}
	}
	if _, err := b.Reach(t.Context(), one, []byte("fault")); !fault.Is(err, fault.Conflict) || fault.Of(err).RetryAfter != 7 {
		t.Errorf("a fault became %v", err)
	}
	for _, text := range []string{"foreign", "panic"} {
		if _, err := b.Reach(t.Context(), one, []byte(text)); !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s became %v", text, err)
		}
	}
	shut()
	if _, err := b.Reach(t.Context(), one, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("a closed subject: %v", err)
	}
	if _, err := b.Reach(t.Context(), two, nil); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

// Names that nobody has are asked for by strangers: they must not trip what
// others ask.
func TestReachingForManyNamesThatNobodyHasDisturbsNobody(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	d := desk(t, b, func(context.Context, bus.Message) ([]byte, error) { return nil, nil })
	if _, err := d.Open(t.Context(), b.Subjects().Control("test.there")); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := b.Reach(t.Context(), b.Subjects().Control("test."+strconv.Itoa(i)), nil); !fault.Is(err, fault.NotFound) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := b.Reach(t.Context(), b.Subjects().Control("test.there"), nil); err != nil {
		t.Error(err)
	}
}

func TestReachingADeskHasBounds(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	d := desk(t, b, func(ctx context.Context, _ bus.Message) ([]byte, error) {
		<-ctx.Done() // as the caller's deadline has it
		return nil, ctx.Err()
	})
	subject := b.Subjects().Control("test.slow")
	if _, err := d.Open(t.Context(), subject); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Reach(ctx, subject, nil); !fault.Is(err, fault.Timeout) {
		t.Errorf("a slow desk: %v", err)
	}
	if _, err := b.Reach(t.Context(), subject, make([]byte, 2<<20)); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("a large request: %v", err)
	}
	if _, err := b.Reach(t.Context(), strings.Repeat("x", 5000), nil); err == nil {
		t.Error("a long subject was asked")
	}
}

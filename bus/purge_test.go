package bus_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
)

// kept returns the sequences of the messages of a subject.
func kept(t *testing.T, b *bus.Bus, subject string) (list []uint64) {
	t.Helper()
	_, last, err := b.State(t.Context())
	if err == nil {
		_, err = b.Read(t.Context(), subject, 0, last, func(m bus.Message) error {
			list = append(list, m.Seq)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// changes appends n messages to each of the subjects, in turns.
func changes(t *testing.T, b *bus.Bus, n int, subjects ...string) {
	t.Helper()
	last := map[string]uint64{}
	for i := range n {
		for _, s := range subjects {
			seq, err := b.Append(t.Context(), bus.Entry{Subject: s, Data: fmt.Append(nil, i), After: last[s]})
			if err != nil {
				t.Fatal(err)
			}
			last[s] = seq
		}
	}
}

func TestAPurgeRemovesWhatStandsBefore(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	one, other := b.Subjects().Record("User", "1"), b.Subjects().Record("User", "2")
	changes(t, b, 4, one, other) // 1 3 5 7 and 2 4 6 8
	if n, err := b.Purge(t.Context(), one, 5); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got := fmt.Sprint(kept(t, b, one), kept(t, b, other)); got != "[5 7] [2 4 6 8]" {
		t.Errorf("kept %s", got)
	}
	if n, err := b.Purge(t.Context(), one, 5); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	if _, err := b.Append(t.Context(), bus.Entry{Subject: one, After: 7}); err != nil {
		t.Errorf("the subject goes on: %v", err)
	}
}

func TestAPurgeToTheEndLeavesAnEmptySubject(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects().Unique("User", "email", "x")
	changes(t, b, 2, s)
	if n, err := b.Purge(t.Context(), s, 3); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := b.Append(t.Context(), bus.Entry{Subject: s, After: 2}); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("who has seen it: %v", err)
	}
	if seq, err := b.Append(t.Context(), bus.Entry{Subject: s}); seq != 3 || err != nil {
		t.Errorf("who sees it empty: %d, %v", seq, err)
	}
}

func TestATrimKeepsTheNewest(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects().Record("User", "1")
	changes(t, b, 5, s)
	for _, want := range []int{3, 0} {
		if n, err := b.Trim(t.Context(), s, 2); n != want || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if got := fmt.Sprint(kept(t, b, s)); got != "[4 5]" {
		t.Errorf("kept %s", got)
	}
}

func TestNoPurgeReachesMoreThanASubject(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects().Record("User", "1")
	changes(t, b, 3, s)
	for _, subject := range []string{"", ">", "other.log.User.1", b.Subjects().Log(), b.Subjects().Records("User"), b.Subjects().EveryRecord()} {
		if n, err := b.Purge(t.Context(), subject, 3); n != 0 || err == nil {
			t.Errorf("%q: %d, %v", subject, n, err)
		}
		if n, err := b.Trim(t.Context(), subject, 1); n != 0 || err == nil {
			t.Errorf("%q: %d, %v", subject, n, err)
		}
	}
	for _, before := range []uint64{0, 1} {
		if n, err := b.Purge(t.Context(), s, before); n != 0 || err != nil {
			t.Errorf("before %d: %d, %v", before, n, err)
		}
	}
	if _, err := b.Trim(t.Context(), s, 0); err == nil {
		t.Error("a state was trimmed")
	}
	if got := len(kept(t, b, s)); got != 3 {
		t.Errorf("%d are kept", got)
	}
}

func TestALogThatDeniesPurgingSaysSo(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), b.Subjects().Stream())
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	c.DenyPurge = true
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Purge(t.Context(), b.Subjects().Record("User", "1"), 9); !errors.Is(err, bus.ErrPurgeDenied) {
		t.Error(err)
	}
}

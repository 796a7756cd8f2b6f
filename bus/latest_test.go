package bus_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestLatestHandsOverTheNewestOfEachSubject(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{History: 3})
	last := map[string]uint64{}
	write := func(subject, data string) uint64 {
		t.Helper()
		seq, err := b.Append(t.Context(), bus.Entry{Subject: subject, Data: []byte(data), Header: bus.Header{"K": {data}}, After: last[subject]})
		if err != nil {
			t.Fatal(err)
		}
		last[subject] = seq
		return seq
	}
	for i := range 2500 {
		write(b.Subjects().Record("A", fmt.Sprint(i)), "first")
	}
	for i := range 1200 {
		write(b.Subjects().Record("B", fmt.Sprint(i%10)), fmt.Sprint(i))
	}
	write(b.Subjects().Unique("A", "x", "h"), "reserved")
	upto := write(b.Subjects().Record("A", "7"), "second")
	write(b.Subjects().Record("A", "8"), "too late")

	got := map[string]string{}
	var seqs []uint64
	err := b.Latest(t.Context(), b.Subjects().EveryRecord(), upto, func(m bus.Message) error {
		if m.Header.Get("K") != string(m.Data) || m.Time.IsZero() {
			t.Errorf("message %d has the header %v, the time %v", m.Seq, m.Header, m.Time)
		}
		got[m.Subject] = string(m.Data)
		seqs = append(seqs, m.Seq)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(seqs) || len(seqs) != 2509 {
		t.Errorf("%d messages, sorted: %t", len(seqs), slices.IsSorted(seqs))
	}
	for subject, want := range map[string]string{
		b.Subjects().Record("A", "0"): "first", b.Subjects().Record("A", "7"): "second", b.Subjects().Record("B", "9"): "1199",
	} {
		if got[subject] != want {
			t.Errorf("%s: got %q, want %q", subject, got[subject], want)
		}
	}
}

func TestLatestReturnsTheCallersErrorAndEndsOnAnEmptyLog(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	never := func(bus.Message) error { return errors.New("called") }
	if err := b.Latest(t.Context(), b.Subjects().EveryRecord(), 0, never); err != nil {
		t.Error(err)
	}
	seq, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Schema(), Data: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Latest(t.Context(), b.Subjects().EveryRecord(), seq, never); err != nil {
		t.Error(err)
	}
	full := errors.New("full")
	if err := b.Latest(t.Context(), b.Subjects().Log(), seq, func(bus.Message) error { return full }); err != full {
		t.Errorf("got %v", err)
	}
}

func TestWhoComesToLookCreatesNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		_, err := bus.Open(t.Context(), bus.Options{Dir: dir, Existing: true})
		if err == nil || !strings.Contains(err.Error(), "no stream tidings-log") {
			t.Fatalf("got %v", err)
		}
	}
	if err := bustest.Dir(t, dir).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	bustest.Open(t, bus.Options{Dir: dir, Existing: true})
}

func TestLatestMissesNothingThatAReplicaLacks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	b := openCluster(t, startCluster(t))
	for n := 1; n <= 20; n++ {
		insist(t, b, bus.Entry{Subject: b.Subjects().Record("User", fmt.Sprint(n)), Data: []byte("x")})
		_, last, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		if err := b.Latest(t.Context(), b.Subjects().EveryRecord(), last, func(bus.Message) error { count++; return nil }); err != nil || count != n {
			t.Fatalf("%d of %d records, %v", count, n, err)
		}
	}
}

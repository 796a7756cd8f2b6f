package resource_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/internal/proc/proctest"
	"tidings/resource"
)

// snapshots are those of the tests' schema, and what is logged about them.
func snapshots(t *testing.T, b *bus.Bus) (*resource.Snapshots, *proctest.Log) {
	n := &proctest.Log{}
	return resource.NewSnapshots(b, modelOf(t).Fingerprint, slog.New(slog.NewTextHandler(n, nil))), n
}

func objects(t *testing.T, b *bus.Bus) []bus.Object {
	t.Helper()
	list, err := b.Objects(bus.ObjectsOptions{Name: resource.SnapshotStore}).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// makeSnapshot has a maker make one of a view.
func makeSnapshot(t *testing.T, b *bus.Bus, w watched) {
	t.Helper()
	s, _ := snapshots(t, b)
	later := time.Now().Add(time.Duration(w.view.Position()) * time.Second) // one is due
	m, err := resource.OpenSnapshotMaker(t.Context(), s, w.view, w.feed, resource.SnapshotOptions{Every: time.Second, Changes: 1, Now: func() time.Time { return later }})
	if err != nil {
		t.Fatal(err)
	}
	if err := resource.MakeSnapshot(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// A process without a file begins with the newest snapshot and is the same as one
// that has read the whole log, while others write.
func TestAViewThatBeginsWithASnapshotIsTheSame(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := newScript(b)
	step := func(n int) (last uint64) {
		for range n {
			var err error
			if last, err = s.step(t.Context(), 300); err != nil {
				t.Fatal(err)
			}
		}
		return last
	}
	last := step(6)
	one := watchIn(t, b, "", resource.FeedOptions{FillAfter: 1 << 62})
	waitFor(t, one.client, last)
	store, log := snapshots(t, b)
	none := watchIn(t, b, "", resource.FeedOptions{FillAfter: 1, Snapshots: store})
	if !strings.Contains(log.String(), "no snapshot of the view fits") {
		t.Error("it is not said that there is none")
	}
	none.stop()
	makeSnapshot(t, b, one)
	last = step(2)

	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for range 300 { // with more the snapshot would lie too far back
			var err error
			if last, err = s.step(t.Context(), 3); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	two := watchIn(t, b, t.TempDir(), resource.FeedOptions{FillAfter: 1, Snapshots: store})
	if !strings.Contains(log.String(), "the view begins with a snapshot") {
		t.Error("it did not begin with the snapshot")
	}
	close(stop)
	writer.Wait()
	waitFor(t, one.client, last)
	waitFor(t, two.client, last)
	if got, want := all(t, two.view, "Open"), all(t, one.view, "Open"); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	for seq, before := range two.seen.before {
		if before != one.seen.before[seq] {
			t.Errorf("before event %d the record was %s, want %s", seq, before, one.seen.before[seq])
		}
	}
}

// A snapshot that is damaged is named and passed over, for the one before and at
// last for the log.
func TestADamagedSnapshotIsPassedOver(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := newScript(b)
	w := watchIn(t, b, "", resource.FeedOptions{})
	var last uint64
	for range 3 {
		var err error
		if last, err = s.step(t.Context(), 300); err != nil {
			t.Fatal(err)
		}
		waitFor(t, w.client, last)
		makeSnapshot(t, b, w)
	}
	list := objects(t, b)
	if len(list) != 2 {
		t.Fatalf("%d snapshots, want the newest and the one before", len(list))
	}
	store := b.Objects(bus.ObjectsOptions{Name: resource.SnapshotStore})
	for i := range list {
		spoilt := list[len(list)-1-i] // the newest first
		var packed bytes.Buffer
		if err := store.Read(t.Context(), spoilt, &packed); err != nil {
			t.Fatal(err)
		}
		spoil := []func([]byte) []byte{
			func(p []byte) []byte { return p[:len(p)-20] },
			func(p []byte) []byte { p[len(p)/2] ^= 1; return p },
		}[i]
		if err := store.Write(t.Context(), spoilt.Name, spoilt.Meta, bytes.NewReader(spoil(packed.Bytes()))); err != nil {
			t.Fatal(err)
		}
		found, log := snapshots(t, b)
		other := watchIn(t, b, "", resource.FeedOptions{FillAfter: 1, Snapshots: found})
		waitFor(t, other.client, last)
		if got, want := all(t, other.view, "Open"), all(t, w.view, "Open"); !slices.Equal(got, want) {
			t.Errorf("%d records, want %d", len(got), len(want))
		}
		if !strings.Contains(log.String(), "is of no use") || !strings.Contains(log.String(), spoilt.Name) {
			t.Error("the damaged one is not named")
		}
		if from := strings.Contains(log.String(), "the view begins with a snapshot"); from != (i == 0) {
			t.Errorf("with %d damaged it began with a snapshot: %t", i+1, from)
		}
		other.stop()
	}
}

// Snapshots of other schemas, logs and formats, and what is none, are passed over.
func TestForeignSnapshotsArePassedOver(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := newScript(b)
	last, err := s.step(t.Context(), 300)
	if err != nil {
		t.Fatal(err)
	}
	w := watchIn(t, b, "", resource.FeedOptions{})
	makeSnapshot(t, b, w)
	store := b.Objects(bus.ObjectsOptions{Name: resource.SnapshotStore})
	list := objects(t, b)
	var packed bytes.Buffer
	if err := store.Read(t.Context(), list[0], &packed); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"fingerprint": "another", "log": "another", "format": "another", "position": "999999", "bytes": "-1"} {
		meta := map[string]string{}
		for k, v := range list[0].Meta {
			meta[k] = v
		}
		meta[key] = value
		if err := store.Write(t.Context(), key, meta, bytes.NewReader(packed.Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	lies := map[string]string{}
	for k, v := range list[0].Meta {
		lies[k] = v
	}
	lies["position"] = fmt.Sprint(last - 1)
	if err := store.Write(t.Context(), "lies", lies, bytes.NewReader(packed.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), "a letter", nil, strings.NewReader("dear")); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), list[0].Name); err != nil {
		t.Fatal(err)
	}
	found, log := snapshots(t, b)
	other := watchIn(t, b, "", resource.FeedOptions{FillAfter: 1, Snapshots: found})
	waitFor(t, other.client, last)
	if strings.Contains(log.String(), "the view begins") || !strings.Contains(log.String(), "no snapshot of the view fits") || !strings.Contains(log.String(), "snapshot=lies") {
		t.Errorf("%s", log)
	}
	if got, want := all(t, other.view, "Open"), all(t, w.view, "Open"); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
}

// Of workers who look at once one makes the snapshot, and nobody makes another
// one before its time. Whose maker died is followed by another, later.
func TestOneMakesTheSnapshot(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := newScript(b)
	last, err := s.step(t.Context(), 300)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var makers []*resource.SnapshotMaker
	for range 4 {
		w := watchIn(t, b, "", resource.FeedOptions{})
		waitFor(t, w.client, last)
		store, _ := snapshots(t, b)
		m, err := resource.OpenSnapshotMaker(t.Context(), store, w.view, w.feed, resource.SnapshotOptions{Every: time.Hour, Changes: 100, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		makers = append(makers, m)
	}
	all := func() {
		t.Helper()
		var looks sync.WaitGroup
		for _, m := range makers {
			looks.Go(func() {
				if err := resource.MakeSnapshot(t.Context(), m); err != nil {
					t.Error(err)
				}
			})
		}
		looks.Wait()
	}
	if made, err := makers[0].Made(t.Context()); err != nil || !made.IsZero() {
		t.Errorf("made at %s, %v", made, err)
	}
	all()
	all()
	if n := len(objects(t, b)); n != 1 {
		t.Fatalf("%d snapshots were made", n)
	}
	for _, m := range makers { // whoever made it
		if made, err := m.Made(t.Context()); err != nil || !made.Equal(now) {
			t.Errorf("made at %s, %v", made, err)
		}
	}
	more := func(n int) {
		t.Helper()
		last, err := s.step(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range makers {
			eventually(t, "all show it", func() bool { return resource.SnapshotPosition(m) >= last })
		}
	}
	now = now.Add(2 * time.Hour)
	more(10) // too few
	all()
	if n := len(objects(t, b)); n != 1 {
		t.Fatalf("%d snapshots, though little changed", n)
	}
	more(200)
	if err := resource.TakeTurn(t.Context(), makers[0]); err != nil { // and dies
		t.Fatal(err)
	}
	all()
	if n := len(objects(t, b)); n != 1 {
		t.Fatalf("%d snapshots, while one is being made", n)
	}
	now = now.Add(time.Hour)
	all()
	if n := len(objects(t, b)); n != 2 {
		t.Fatalf("%d snapshots after the one who made one had died", n)
	}
	now = now.Add(25 * time.Hour)
	more(1)
	all() // what the old ones hold may have been deleted since
	if n := len(objects(t, b)); n != 1 {
		t.Fatalf("%d snapshots after a day", n)
	}
}

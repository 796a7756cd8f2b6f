package resource_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(60*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it never came about: ", what)
		}
	}
}

// A view whose file is damaged under a running process is built anew from the
// log, and who watches is told everything once, as if nothing had happened.
func TestADamagedFileIsMendedWhileTheProcessRuns(t *testing.T) {
	t.Parallel()
	b, dir := bustest.New(t), t.TempDir()
	s := newScript(b)
	var last uint64
	for range 8 {
		var err error
		if last, err = s.step(t.Context(), 500); err != nil {
			t.Fatal(err)
		}
	}
	healthy := watchIn(t, b, "", resource.FeedOptions{})
	first := watchIn(t, b, dir, resource.FeedOptions{})
	waitFor(t, first.client, last)
	first.stop()

	w := watchIn(t, b, dir, resource.FeedOptions{})
	file := filepath.Join(dir, "view.db")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	damage(t, file, info.Size())
	eventually(t, "a read meets the damage", func() bool {
		_, err := w.view.List(t.Context(), view.Query{Type: "Open", First: 1000})
		if err != nil && (!errors.Is(err, view.ErrDamaged) || !fault.Is(err, fault.Unavailable)) {
			t.Error(err)
		}
		return err != nil
	})
	for range 5 {
		if last, err = s.step(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, w.client, last)
	eventually(t, "the view is whole", func() bool { return w.feed.Whole() == nil && w.view.Ready() == nil })
	waitFor(t, healthy.client, last)
	if got, want := all(t, w.view, "Open"), all(t, healthy.view, "Open"); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	for seq := last - 499; seq <= last; seq++ {
		if got, known := w.seen.before[seq]; !known || got != healthy.seen.before[seq] {
			t.Errorf("event %d: known %t, before it %s, want %s", seq, known, got, healthy.seen.before[seq])
		}
	}
	w.stop()
	again := watchIn(t, b, dir, resource.FeedOptions{})
	if got, want := all(t, again.view, "Open"), all(t, healthy.view, "Open"); !slices.Equal(got, want) {
		t.Errorf("after a restart %d records, want %d", len(got), len(want))
	}
}

// damage overwrites all of a database but its first two pages.
func damage(t *testing.T, file string, size int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("\xee", int(size)-8192)), 8192); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// While the disk is full a process goes on: it says that it is not ready, reads
// by id show what was applied, and what waits is applied once there is room.
func TestAFullDiskIsWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small(t, dir)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 124<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	b := bustest.New(t)
	w := watchIn(t, b, dir, resource.FeedOptions{})
	var last uint64
	big := strings.Repeat("x", 100_000)
	for i := range 120 {
		id := fmt.Sprintf("t%03d", i)
		seq, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("Open", id), Header: bus.Header{"Tidings-Kind": {"CREATED"}},
			Data: fmt.Appendf(nil, `{"id":%q,"state":%q}`, id, big)})
		if err != nil {
			t.Fatal(err)
		}
		last = seq
	}
	eventually(t, "it says that it is not ready", func() bool { return errors.Is(w.view.Ready(), view.ErrUnwritable) })
	if _, err := w.view.List(t.Context(), view.Query{Type: "Open", First: 10}); !fault.Is(err, fault.Unavailable) {
		t.Error("a list that needs what cannot be written:", err)
	}
	docs, err := w.view.Get(t.Context(), "Open", []string{"t000", fmt.Sprintf("t%03d", w.feed.Now().Seq-1)})
	if err != nil || docs[0] == nil || docs[1] == nil {
		t.Error("what was applied cannot be read by id:", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	waitFor(t, w.client, last)
	eventually(t, "it is ready again", func() bool { return w.view.Ready() == nil && w.feed.Whole() == nil })
	if n, err := w.view.Count(t.Context(), "Open", nil, ""); n != 120 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

// A log that lost its end and has grown again past the position of a view that
// was down is told from the one that the view shows.
func TestALogThatLostItsEndAndGrewIsNotTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(b *bus.Bus, from, n int) (last uint64) {
		for i := range n {
			var err error
			id := fmt.Sprintf("t%03d", from+i)
			if last, err = b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("Open", id), Header: bus.Header{"Tidings-Kind": {"CREATED"}},
				Data: fmt.Appendf(nil, `{"id":%q,"state":"s"}`, id)}); err != nil {
				t.Fatal(err)
			}
		}
		return last
	}
	b := bustest.New(t)
	position := write(b, 0, 50)
	m, err := schema.Load(taskDir)
	if err != nil {
		t.Fatal(err)
	}
	w := watchIn(t, b, dir, resource.FeedOptions{})
	waitFor(t, w.client, position)
	w.stop()
	v, err := view.Open(t.Context(), m, b.LogID(), view.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if len(v.Marks()) == 0 || v.Marks()[0].Seq != position {
		t.Fatalf("marks %v at %d", v.Marks(), position)
	}
	write(b, 100, 20)
	if err := resource.Recognize(t.Context(), b, v.Position(), v.Marks()); err != nil {
		t.Error("the same log:", err)
	}
	other := bustest.New(t) // as the first would be after it lost its end
	write(other, 0, 30)
	if err := resource.Recognize(t.Context(), other, v.Position(), v.Marks()); !errors.Is(err, bus.ErrLogReplaced) {
		t.Error("it is shorter:", err)
	}
	write(other, 200, 40)
	if err := resource.Recognize(t.Context(), other, v.Position(), v.Marks()); !errors.Is(err, bus.ErrLogReplaced) {
		t.Error("it has grown:", err)
	}
}

// watchIn is watch with a directory for the view.
func watchIn(t *testing.T, b *bus.Bus, dir string, o resource.FeedOptions) watched {
	t.Helper()
	m := modelOf(t)
	var err error
	w := watched{seen: &befores{before: map[uint64]string{}}}
	if w.view, err = view.Open(t.Context(), m, b.LogID(), view.Options{Dir: dir, Memory: -1}); err != nil {
		t.Fatal(err)
	}
	w.feed = resource.NewFeed(b, m, w.view, o)
	w.client = resource.NewClient(b, m, w.view, w.feed)
	if _, err := w.feed.Join(resource.FromNow, w.seen); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.feed.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := w.view.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	select {
	case <-w.feed.Ready():
	case <-time.After(60 * time.Second):
		t.Fatal("the feed did not catch up")
	}
	return w
}

func modelOf(t *testing.T) *schema.Model {
	t.Helper()
	m, err := schema.Load(taskDir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

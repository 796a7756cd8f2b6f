package resource_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/view"
)

// script appends creates, updates and deletes of so many tasks to a log.
type script struct {
	bus  *bus.Bus
	last map[string]uint64 // the message of each record
	gone map[string]bool
	rand *rand.Rand
}

func newScript(b *bus.Bus) *script {
	return &script{bus: b, last: map[string]uint64{}, gone: map[string]bool{}, rand: rand.New(rand.NewPCG(1, 2))}
}

// step changes some records at once, and returns how far the log got.
func (s *script) step(ctx context.Context, n int) (uint64, error) {
	var entries []bus.Entry
	touched := map[string]resource.Kind{}
	for len(entries) < n {
		id := fmt.Sprintf("t%04d", s.rand.IntN(3000))
		if touched[id] != "" {
			continue
		}
		kind, raw := resource.Updated, fmt.Sprintf(`{"id":%q,"state":"s%d"}`, id, s.rand.IntN(5))
		switch {
		case s.last[id] == 0 || s.gone[id]:
			kind = resource.Created
		case s.rand.IntN(4) == 0:
			kind, raw = resource.Deleted, fmt.Sprintf(`{"id":%q}`, id)
		}
		touched[id] = kind
		entries = append(entries, bus.Entry{
			Subject: s.bus.Subjects().Record("Open", id), After: s.last[id],
			Header: bus.Header{"Tidings-Kind": {string(kind)}}, Data: []byte(raw),
		})
	}
	last, err := s.bus.Append(ctx, entries...)
	for i, e := range entries {
		_, id, _ := s.bus.Subjects().ParseRecord(e.Subject)
		s.last[id], s.gone[id] = last-uint64(n-1-i), touched[id] == resource.Deleted
	}
	return last, err
}

// all returns every record of a view.
func all(t *testing.T, v resource.View, typ string) (docs []string) {
	t.Helper()
	for after := ""; ; {
		page, err := v.List(t.Context(), view.Query{Type: typ, First: 1000, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range page.Records {
			docs = append(docs, string(doc))
		}
		if len(page.Records) < 1000 {
			return docs
		}
		after = page.Cursors[len(page.Cursors)-1]
	}
}

// waitFor waits until the view shows seq.
func waitFor(t *testing.T, c *resource.Client, seq uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.WaitFor(ctx, seq); err != nil {
		t.Fatal(err)
	}
}

// states takes down what each record was before each event that it is offered.
type befores struct {
	mu     sync.Mutex
	before map[uint64]string
}

func (s *befores) Offer(e resource.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before[e.Seq] = string(e.Before)
}

// A view that was built at once from the newest of each record is the same as
// one that was led through all changes, while others write; and so are the events.
func TestAViewThatIsBuiltAtOnceIsTheSame(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := newScript(b)
	for range 6 {
		if _, err := s.step(t.Context(), 500); err != nil {
			t.Fatal(err)
		}
	}
	one := resourcetest.Reader(t, b, taskDir, resource.FeedOptions{FillAfter: 1 << 62})
	want := &befores{before: map[uint64]string{}}
	if _, err := one.Feed.Join(resource.FromNow, want); err != nil {
		t.Fatal(err)
	}
	var last uint64
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for {
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
	others := make([]watched, 3)
	for i := range others {
		others[i] = watch(t, b, resource.FeedOptions{FillAfter: 1})
		waitFor(t, others[i].client, others[i].feed.Now().Seq+100)
	}
	close(stop)
	writer.Wait()
	waitFor(t, one.Client, last)
	for i, other := range others {
		waitFor(t, other.client, last)
		if got, want := all(t, other.view, "Open"), all(t, one.View, "Open"); !slices.Equal(got, want) {
			t.Errorf("view %d has %d records, want %d", i, len(got), len(want))
		}
		if len(other.seen.before) == 0 {
			t.Errorf("view %d: no events", i)
		}
		for seq, before := range other.seen.before {
			if before != want.before[seq] {
				t.Errorf("view %d: before event %d the record was %s, want %s", i, seq, before, want.before[seq])
			}
		}
	}
}

// watched is a feed with a watcher that has joined before it ran.
type watched struct {
	view   *view.View
	feed   *resource.Feed
	client *resource.Client
	seen   *befores
	stop   func()
}

func watch(t *testing.T, b *bus.Bus, o resource.FeedOptions) watched {
	t.Helper()
	return watchIn(t, b, "", o)
}

package view_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/internal/rawjson"
	"tidings/view"
)

// history is what records were after each Apply. Readers hold what they see
// against it: a read shows one state of its types that is no older than the
// position before it, and no newer than the last one that was begun.
type history struct {
	mu     sync.Mutex
	states []state // in the order of upto
	begun  atomic.Uint64
}

// state is what the records were up to a sequence of the log.
type state struct {
	upto    uint64
	records map[string]string // by id; of the deleted ones none
}

func (h *history) add(upto uint64, changes []view.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	records := map[string]string{}
	if n := len(h.states); n > 0 {
		records = maps.Clone(h.states[n-1].records)
	}
	for _, c := range changes {
		if c.Raw == nil {
			delete(records, c.ID)
		} else {
			records[c.ID] = string(c.Raw)
		}
	}
	h.states = append(h.states, state{upto, records})
	h.begun.Store(upto)
}

// between returns the states that a read may show which began and ended there.
func (h *history) between(from, to uint64) []state {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := 0
	for i, s := range h.states {
		if s.upto <= from {
			first = i
		}
	}
	var list []state
	for _, s := range h.states[first:] {
		if s.upto <= to {
			list = append(list, s)
		}
	}
	return list
}

const stressed = 12 // records, of two authors

func author(n int) string { return fmt.Sprintf("author%d", n%2) }

// write applies random changes, one Apply after the other, and checks what each
// is told of the past.
func (h *history) write(ctx context.Context, v *view.View, rounds int, seed uint64) error {
	r, narrow := rand.New(rand.NewPCG(seed, 1)), seed%2 == 1 // on a disk that is full now and then
	for range rounds {
		at := v.Position()
		var changes []view.Change
		for range r.IntN(4) {
			at++
			n := r.IntN(stressed)
			c := view.Change{Seq: at, Type: "Post", ID: fmt.Sprint("p", n), Look: r.IntN(2) == 0}
			if r.IntN(4) > 0 {
				c.Raw = fmt.Appendf(nil, `{"id":%q,"authorId":%q,"minutes":%d,"content":%q}`, c.ID, author(n), at, strings.Repeat("x", r.IntN(5000)))
			}
			changes = append(changes, c)
		}
		at++ // of something that is no record
		before := h.between(v.Position(), v.Position())[0].records
		h.add(at, changes)
		if err := v.Apply(ctx, at, changes); isFull(err) {
			if err = view.Fill(ctx, v, false); err == nil {
				err = v.Apply(ctx, at, changes)
			}
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		if r.IntN(20) == 0 && narrow {
			if err := view.Fill(ctx, v, true); err != nil {
				return err
			}
		}
		now := maps.Clone(before)
		for _, c := range changes {
			if c.Look && string(c.Before) != now[c.ID] {
				return fmt.Errorf("before %d %s was %q, told is %q", c.Seq, c.ID, now[c.ID], c.Before)
			}
			now[c.ID] = string(c.Raw)
		}
	}
	return nil
}

// check reads in one of several ways and holds the result against the history.
func (h *history) check(ctx context.Context, v records, f fixture, r *rand.Rand) error {
	from := v.Position()
	what, show, err := h.read(ctx, v, f, r)
	if isFull(err) {
		return nil
	}
	if err != nil {
		return err
	}
	list := h.between(from, h.begun.Load())
	got := what.got
	if what.each { // each record for itself
		for i, id := range what.ids {
			if !slices.ContainsFunc(list, func(s state) bool { return s.records[id] == got[i] }) {
				return fmt.Errorf("%s from %d: %q is none of %d states", id, from, got[i], len(list))
			}
		}
		return nil
	}
	if !slices.ContainsFunc(list, func(s state) bool { return slices.Equal(show(s), got) }) {
		return fmt.Errorf("from %d to %d: %.300q is none of %d states, the first of which is %.300q", from, h.begun.Load(), got, len(list), show(list[0]))
	}
	return nil
}

func isFull(err error) bool { return err != nil && strings.Contains(err.Error(), "full") }

// seen is what a read has found.
type seen struct {
	got  []string
	ids  []string
	each bool
}

func (h *history) read(ctx context.Context, v records, f fixture, r *rand.Rand) (s seen, show func(state) []string, err error) {
	switch r.IntN(5) {
	case 0:
		for range 1 + r.IntN(4) {
			s.ids = append(s.ids, fmt.Sprint("p", r.IntN(stressed)))
		}
		docs, err := v.Get(ctx, "Post", s.ids)
		s.got, s.each = textsOf(docs), true
		return s, nil, err
	case 1:
		n, err := v.Count(ctx, "Post", nil, "")
		s.got = []string{fmt.Sprint(n)}
		return s, func(s state) []string { return []string{fmt.Sprint(len(s.records))} }, err
	case 2:
		page, err := v.List(ctx, view.Query{Type: "Post", First: 100})
		s.got = textsOf(page.Records)
		return s, func(s state) []string { return s.sorted("") }, err
	case 3:
		page, at, err := v.ListAt(ctx, view.Query{Type: "Post", First: 100})
		if states := h.between(at, at); err == nil && !slices.Equal(states[0].sorted(""), textsOf(page.Records)) {
			err = fmt.Errorf("the page as of %d is %q, want %q", at, textsOf(page.Records), states[0].sorted(""))
		}
		s.got = textsOf(page.Records)
		return s, func(s state) []string { return s.sorted("") }, err
	}
	who := author(r.IntN(2))
	lists, err := v.Related(ctx, view.Related{Relation: f.posts, Parents: []string{who}, Limit: 100})
	if err == nil {
		s.got = textsOf(lists[0])
		slices.Reverse(s.got)
	}
	return s, func(s state) []string { return s.sorted(who) }, err
}

func textsOf(docs [][]byte) []string {
	list := make([]string, len(docs))
	for i, doc := range docs {
		list[i] = string(doc)
	}
	return list
}

// sorted are the records by id, all or those of an author.
func (s state) sorted(author string) []string {
	list := []string{}
	for _, doc := range s.records {
		if author == "" || rawjson.String([]byte(doc), "authorId") == author {
			list = append(list, doc)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		return slices.Compare([]byte(rawjson.String([]byte(a), "id")), []byte(rawjson.String([]byte(b), "id")))
	})
	return list
}

// Whatever reads while changes come, are written, and find no room on the disk
// for a while: nothing older than the position, nothing torn, nothing lost.
func TestReadersSeeWhatWasAppliedWhateverTheFileHas(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int{"remembering": 0, "remembering nothing": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, f, h := t.TempDir(), newFixture(), &history{}
			h.add(0, nil)
			for life := range uint64(4) { // each time the view is opened again
				v := openWith(t, f.model, view.Options{Dir: dir, Memory: memory})
				if at := v.Position(); at != h.begun.Load() {
					t.Fatalf("opened at %d, closed at %d", at, h.begun.Load())
				}
				h.live(t, v, f, life)
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func (h *history) live(t *testing.T, v *view.View, f fixture, life uint64) {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	done := make(chan struct{})
	for n := range uint64(3) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(life, 10+n))
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := h.check(t.Context(), v, f, r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		defer close(done)
		if err := h.write(t.Context(), v, 150, life); err != nil {
			t.Error(err)
		}
		if err := view.Fill(t.Context(), v, false); err != nil {
			t.Error(err)
		}
	})
}

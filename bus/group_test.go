package bus_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
)

// pair is an append of two entries, as a record with a unique value makes it.
func pair(b *bus.Bus, id string, after uint64) []bus.Entry {
	return []bus.Entry{
		{Subject: b.Subjects().Unique("User", "email", id), Data: []byte("{}"), After: after},
		{Subject: b.Subjects().Record("User", id), Data: []byte("{}")},
	}
}

func TestAppendsThatWaitTogetherLeaveTogether(t *testing.T) {
	t.Parallel()
	b := bustest.Dir(t, t.TempDir())
	const appends = 200
	var wg sync.WaitGroup
	for i := range appends {
		wg.Go(func() {
			seq, err := b.Append(t.Context(), pair(b, fmt.Sprint(i), 0)...)
			if err != nil {
				t.Error(err)
				return
			}
			m, err := b.Last(t.Context(), b.Subjects().Record("User", fmt.Sprint(i)))
			if err != nil || m == nil || m.Seq != seq {
				t.Errorf("stored as %+v, acknowledged as %d, %v", m, seq, err)
			}
		})
	}
	wg.Wait()
	if n := len(batchIDs(t, b)); n > appends/2 {
		t.Errorf("%d appends left as %d batches", appends, n)
	}
}

// batchIDs returns how many messages of the log each batch has.
func batchIDs(t *testing.T, b *bus.Bus) map[string]int {
	t.Helper()
	_, last, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(bus.Conn(b))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), b.Subjects().Stream())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for seq := range last {
		m, err := stream.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		ids[m.Header.Get("Nats-Batch-Id")]++
	}
	return ids
}

// A member whose expectation fails is told so; the others of its batch are
// stored all the same, and nothing of the failed one is.
func TestAConflictHarmsNoOtherMemberOfItsBatch(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	const appends = 300
	var stored atomic.Int64
	var wg sync.WaitGroup
	for i := range appends {
		wg.Go(func() {
			wrong := i%7 == 0
			after := uint64(0)
			if wrong {
				after = 1 << 40
			}
			_, err := b.Append(t.Context(), pair(b, fmt.Sprint(i), after)...)
			switch {
			case wrong && !errors.Is(err, bus.ErrConflict):
				t.Errorf("append %d: %v, want ErrConflict", i, err)
			case !wrong && err != nil:
				t.Errorf("append %d: %v", i, err)
			case !wrong:
				stored.Add(2)
			}
		})
	}
	wg.Wait()
	if _, last, err := b.State(t.Context()); err != nil || int64(last) != stored.Load() {
		t.Fatalf("the log ends at %d, want %d (%v)", last, stored.Load(), err)
	}
}

// Those who want one value decide anew after each other's success, until all
// have had it; those who want nothing of it are served meanwhile.
func TestNobodyStarvesBesideAContestedValue(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	contested := b.Subjects().Unique("User", "email", "contested")
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 5 {
				takeValue(t, b, contested, fmt.Sprintf("%d-%d", w, i))
			}
		})
		wg.Go(func() {
			for i := range 20 {
				if _, err := b.Append(t.Context(), pair(b, fmt.Sprintf("calm-%d-%d", w, i), 0)...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, last, err := b.State(t.Context()); err != nil || last != 2*16*25 {
		t.Fatalf("the log ends at %d, want %d (%v)", last, 2*16*25, err)
	}
}

func takeValue(t *testing.T, b *bus.Bus, contested, id string) {
	for {
		m, err := b.Last(t.Context(), contested)
		if err != nil {
			t.Error(err)
			return
		}
		e := bus.Entry{Subject: contested}
		if m != nil {
			e.After = m.Seq
		}
		_, err = b.Append(t.Context(), e, bus.Entry{Subject: b.Subjects().Record("User", id)})
		if err == nil || !errors.Is(err, bus.ErrConflict) {
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}

func TestGroupsKeepTheOrderOfTheirSubjects(t *testing.T) {
	t.Parallel()
	of := func(subjects ...string) (list []bus.Entry) {
		for _, s := range subjects {
			list = append(list, bus.Entry{Subject: s})
		}
		return list
	}
	many := make([]bus.Entry, 400)
	for i := range many {
		many[i].Subject = fmt.Sprint("many", i)
	}
	more := make([]bus.Entry, 400)
	for i := range more {
		more[i].Subject = fmt.Sprint("more", i)
	}
	for name, c := range map[string]struct {
		appends [][]bus.Entry
		want    [][]int
	}{
		"all at once":             {[][]bus.Entry{of("a", "b"), of("c", "d"), of("e", "f")}, [][]int{{0, 1, 2}}},
		"one subject, in turn":    {[][]bus.Entry{of("a", "b"), of("b", "c"), of("b", "d")}, [][]int{{0}, {1}, {2}}},
		"no overtaking":           {[][]bus.Entry{of("a", "b"), of("b", "c"), of("c", "d"), of("e", "f")}, [][]int{{0, 3}, {1}, {2}}},
		"the same subject twice":  {[][]bus.Entry{of("a", "a"), of("b", "c")}, [][]int{{0, 1}}},
		"what is large goes next": {[][]bus.Entry{many, more, of("a", "b")}, [][]int{{0, 2}, {1}}},
	} {
		if got := bus.TakeGroups(c.appends); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Whoever stops waiting before the batch has left has stored nothing.
func TestAnAppendThatIsGivenUpInTimeIsNotStored(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Append(ctx, pair(b, "1", 0)...)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want the context's end", err)
	}
	if err == nil || errors.Is(err, bus.ErrUnknownOutcome) {
		return // it had left: it is stored, or nobody can tell
	}
	if _, last, err := b.State(t.Context()); last != 0 || err != nil {
		t.Fatalf("the log ends at %d, %v", last, err)
	}
}

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
)

// referring is an append of a record that refers to another one, which was last
// changed at after.
func referring(b *bus.Bus, id, to string, after uint64) []bus.Entry {
	return []bus.Entry{
		{Subject: b.Subjects().Record("Post", id), Data: []byte("{}")},
		{Subject: b.Subjects().Reference("User", to), Of: b.Subjects().Record("User", to), After: after, Data: []byte("{}")},
	}
}

// leaving is an append of the end of a record to which others may refer.
func leaving(b *bus.Bus, id string, after, references uint64) []bus.Entry {
	return []bus.Entry{
		{Subject: b.Subjects().Record("User", id), Data: []byte("{}"), After: after},
		{Subject: b.Subjects().Reference("User", id), Data: []byte("{}"), After: references},
	}
}

func TestAnEntryMayExpectWhatAnotherSubjectHolds(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bus.Bus{"in memory": bustest.New(t), "on disk": bustest.Dir(t, t.TempDir())} {
		expectOfAnother(t, name, b)
	}
}

func TestAnEntryMayExpectWhatAnotherSubjectHoldsInACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	expectOfAnother(t, "three servers", openCluster(t, startCluster(t)))
}

func expectOfAnother(t *testing.T, name string, b *bus.Bus) {
	t.Helper()
	ctx := t.Context()
	user, err := b.Append(ctx, bus.Entry{Subject: b.Subjects().Record("User", "u"), Data: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(ctx, referring(b, "a", "u", user+1)...); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("%s: it stands elsewhere: %v", name, err)
	}
	if _, err := b.Append(ctx, referring(b, "a", "nobody", 0)...); err != nil {
		t.Errorf("%s: it is expected to be empty, and is: %v", name, err)
	}
	var references uint64
	for _, id := range []string{"b", "c"} { // whatever the entry's own subject holds
		if references, err = b.Append(ctx, referring(b, id, "u", user)...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	m, err := b.Last(ctx, b.Subjects().Reference("User", "u"))
	if err != nil || m.Seq != references || m.Prev != 0 || len(m.Header) != 0 {
		t.Errorf("%s: stored as %+v, %v", name, m, err)
	}
	if _, err := b.Append(ctx, leaving(b, "u", user, references-2)...); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("%s: somebody refers to it since: %v", name, err)
	}
	if _, err := b.Append(ctx, leaving(b, "u", user, references)...); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if _, err := b.Append(ctx, referring(b, "d", "u", user)...); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("%s: it has gone: %v", name, err)
	}
	if m, err := b.Last(ctx, b.Subjects().Record("Post", "d")); err != nil || m != nil {
		t.Errorf("%s: stored all the same: %+v, %v", name, m, err)
	}
}

// Of those who refer to a record and of one who ends it, all at the same time,
// either the one succeeds or the others; and those who refer share batches.
func TestReferencesAndTheEndOfARecordExcludeEachOther(t *testing.T) {
	t.Parallel()
	b := bustest.Dir(t, t.TempDir())
	const rounds, writers = 20, 40
	for round := range rounds {
		id := fmt.Sprintf("u%d", round)
		user, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("User", id), Data: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		var refer, leave [writers + 1]bool
		var wg sync.WaitGroup
		try := func(done *bool, entries []bus.Entry) {
			wg.Go(func() {
				switch _, err := b.Append(context.WithoutCancel(t.Context()), entries...); {
				case err == nil:
					*done = true
				case !errors.Is(err, bus.ErrConflict):
					t.Error(err)
				}
			})
		}
		for i := range writers {
			if i == writers/2 {
				try(&leave[0], leaving(b, id, user, 0))
			}
			try(&refer[i], referring(b, fmt.Sprintf("%s-%d", id, i), id, user))
		}
		wg.Wait()
		for i := range writers {
			if refer[i] == leave[0] {
				t.Errorf("round %d: left %t, %d refers %t", round, leave[0], i, refer[i])
			}
		}
	}
	if n := len(batchIDs(t, b)); n > rounds*writers/2 {
		t.Errorf("%d batches", n)
	}
}

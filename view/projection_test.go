package view_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/schema"
	"tidings/view"
	"tidings/view/viewtest"
)

// within is a context that ends in a while, should what it is given to hang.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestAProjectionGoesOnWhereTheLastOneWas(t *testing.T) {
	t.Parallel()
	o, f := viewtest.Options(t), newFixture()
	first := openShared(t, f.model, o)
	put(t, first, "Post", object{"id": "a", "title": "one"})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := openShared(t, f.model, o)
	if got := again.Position(); got != 1 {
		t.Fatalf("position %d", got)
	}
	put(t, again, "Post", object{"id": "b", "title": "two"})
	page, err := again.List(t.Context(), view.Query{Type: "Post"})
	if got := ids(t, page.Records); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestASecondProjectionStandsByUntilTheFirstEnds(t *testing.T) {
	t.Parallel()
	o, f := viewtest.Options(t), newFixture()
	first := openShared(t, f.model, o)
	put(t, first, "Post", object{"id": "a"})
	waited, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := view.OpenProjection(waited, f.model, "log1", o); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second one was opened: %v", err)
	}
	var second *view.Projection
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if second, err = view.OpenProjection(within(t), f.model, "log1", o); err != nil {
			t.Error(err)
		}
	})
	put(t, first, "Post", object{"id": "b"})
	if err := first.projection.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if second == nil {
		return
	}
	defer func() { _ = second.Close() }()
	if second.Position() != 2 {
		t.Errorf("the second begins at %d", second.Position())
	}
}

// A lock can be lost without its holder knowing (a pooler deals connections
// out): then the position decides.
func TestOfTwoProjectionsOneIsTakenOver(t *testing.T) {
	t.Parallel()
	o, f := viewtest.Options(t), newFixture()
	first := openShared(t, f.model, o)
	if err := view.Unlock(t.Context(), first.projection); err != nil {
		t.Fatal(err)
	}
	second := openShared(t, f.model, o)
	put(t, second, "Post", object{"id": "a", "title": "of the second"})
	late := view.Change{Seq: 1, Type: "Post", ID: "a", Raw: []byte(`{"id":"a","title":"of the first"}`)}
	if err := first.projection.Apply(t.Context(), 1, []view.Change{late}); !errors.Is(err, view.ErrTaken) {
		t.Errorf("the first one wrote: %v", err)
	}
	docs, err := second.Get(t.Context(), "Post", []string{"a"})
	if err != nil || !strings.Contains(string(docs[0]), "second") {
		t.Errorf("%q, %v", docs, err)
	}
}

func TestTablesOfAnotherLogAreBuiltAnew(t *testing.T) {
	t.Parallel()
	o, f := viewtest.Options(t), newFixture()
	first := openShared(t, f.model, o)
	put(t, first, "Post", object{"id": "a"})
	if err := first.projection.Condemn(); err != nil {
		t.Fatal(err)
	}
	for _, log := range []string{"log1", "log2"} {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		p, err := view.OpenProjection(within(t), f.model, log, o)
		if err != nil || p.Position() != 0 {
			t.Fatalf("%s: %v", log, err)
		}
		if err := errors.Join(p.Finish(t.Context()), p.Apply(t.Context(), 7, nil), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	stranger, err := view.OpenShared(f.model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if at, err := stranger.Begin(ctx); err == nil || stranger.Ready() == nil {
		t.Errorf("a reader takes the tables of another log for its own, at %d", at)
	}
}

func TestTwoSchemasAndTwoDeploymentsShareADatabase(t *testing.T) {
	t.Parallel()
	o, f, g := viewtest.Options(t), newFixture(), newFixture()
	g.model.Fingerprint = "f2"
	other := viewtest.Options(t)
	for i, v := range []*shared{openShared(t, f.model, o), openShared(t, g.model, o), openShared(t, f.model, other)} {
		put(t, v, "Post", object{"id": fmt.Sprint(i)})
		page, err := v.List(t.Context(), view.Query{Type: "Post"})
		if got := ids(t, page.Records); err != nil || !slices.Equal(got, []string{fmt.Sprint(i)}) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestTablesThatNobodyFillsAreDeleted(t *testing.T) {
	t.Parallel()
	o, f, g := viewtest.Options(t), newFixture(), newFixture()
	old := openShared(t, f.model, o)
	put(t, old, "Post", object{"id": "a"})
	g.model.Fingerprint = "f2"
	openShared(t, g.model, o)
	if _, err := old.Count(t.Context(), "Post", nil, ""); err != nil {
		t.Fatal("tables in use are gone:", err)
	}
	if err := view.Age(t.Context(), old.projection); err != nil {
		t.Fatal(err)
	}
	if err := old.projection.Close(); err != nil {
		t.Fatal(err)
	}
	g.model.Fingerprint = "f3"
	third := openShared(t, g.model, o)
	if there, err := view.There(t.Context(), third.projection, old.Shared); there || err != nil {
		t.Errorf("there: %v, %v", there, err)
	}
}

// A table filled at once is the same as one that was led through all changes.
func TestAFilledProjectionIsTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := viewtest.Options(t)
	p, err := view.OpenProjection(within(t), f.model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	err = p.Fill(t.Context(), n, func(add func([]view.Change) error) error {
		for i := range n {
			c := view.Change{Seq: uint64(i + 1), Type: "Post", ID: numbered(i), Raw: object{"id": numbered(i), "title": fmt.Sprint(i % 7), "minutes": i}.raw()}
			if err := add([]view.Change{c}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	v := openShared(t, f.model, o)
	if v.Position() != n {
		t.Errorf("position %d", v.Position())
	}
	if got, err := v.Count(t.Context(), "Post", &view.Filter{Field: f.minutes, Op: "lt", Value: 100}, ""); got != 100 || err != nil {
		t.Error(got, err)
	}
	put(t, v, "Post", object{"id": numbered(3), "title": "new"})
	page, err := v.List(t.Context(), view.Query{Type: "Post", Order: []view.Order{{Field: f.title, Desc: true}}, First: 1})
	if got := ids(t, page.Records); err != nil || !slices.Equal(got, []string{numbered(3)}) {
		t.Errorf("%q, %v", got, err)
	}
}

// Texts may be longer than an index takes.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	long := strings.Repeat("x", 20_000)
	put(t, v, "Post", object{"id": "a", "title": long + "a"}, object{"id": "b", "title": long + "b end"}, object{"id": "c", "title": "y"}, object{"id": "d", "title": "x"})
	for name, test := range map[string]struct {
		op    string
		value any
		want  string
	}{
		"eq":          {"eq", long + "a", "a"},
		"in":          {"in", []any{long + "b end", "y"}, "b c"},
		"contains":    {"contains", "end", "b"},
		"begins":      {"beginsWith", "xx", "a b"},
		"begins long": {"beginsWith", long + "b", "b"},
		"notContains": {"notContains", "xb end", "a c d"},
		"gt":          {"gt", "xz", "c"},
		"lt":          {"lt", "xx", "d"},
	} {
		page, err := v.List(t.Context(), view.Query{Type: "Post", Filter: &view.Filter{Field: f.title, Op: test.op, Value: test.value}})
		if got := strings.Join(ids(t, page.Records), " "); err != nil || got != test.want {
			t.Errorf("%s: %q, want %q: %v", name, got, test.want, err)
		}
	}
	var seen []string
	for after := ""; ; {
		page, err := v.List(t.Context(), view.Query{Type: "Post", First: 1, After: after, Order: []view.Order{{Field: f.title, Desc: true}}})
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, ids(t, page.Records)...)
		if !page.HasNext {
			break
		}
		after = page.Cursors[0]
	}
	if len(seen) != 4 || seen[0] != "c" || seen[3] != "d" {
		t.Errorf("by title, the last first: %q", seen)
	}
}

// Numbers are compared by value, without rounding.
func TestNumbersAtTheEndsOfTheirRanges(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "Post",
		object{"id": "min", "minutes": int64(-1 << 63), "score": -1.7976931348623157e308},
		object{"id": "max", "minutes": int64(1<<63 - 1), "score": 1.7976931348623157e308},
		object{"id": "odd", "minutes": int64(1<<53 + 1), "score": 5e-324},
		object{"id": "pow", "minutes": int64(1 << 60), "score": 0.1})
	for name, test := range map[string]struct {
		filter view.Filter
		want   string
	}{
		"a whole number as it is":       {view.Filter{Field: f.minutes, Op: "eq", Value: int64(1<<53 + 1)}, "odd"},
		"and not its neighbour":         {view.Filter{Field: f.minutes, Op: "eq", Value: float64(1 << 53)}, ""},
		"a power of two as a float":     {view.Filter{Field: f.minutes, Op: "eq", Value: float64(1 << 60)}, "pow"},
		"below what no int64 reaches":   {view.Filter{Field: f.minutes, Op: "lt", Value: 9.3e18}, "max min odd pow"},
		"from the least":                {view.Filter{Field: f.minutes, Op: "le", Value: int64(-1 << 63)}, "min"},
		"the smallest float":            {view.Filter{Field: f.score, Op: "eq", Value: 5e-324}, "odd"},
		"the largest float":             {view.Filter{Field: f.score, Op: "ge", Value: 1.7976931348623157e308}, "max"},
		"a float that has no short end": {view.Filter{Field: f.score, Op: "in", Value: []any{0.1, int64(0)}}, "pow"},
	} {
		page, err := v.List(t.Context(), view.Query{Type: "Post", Filter: &test.filter})
		if got := strings.Join(ids(t, page.Records), " "); err != nil || got != test.want {
			t.Errorf("%s: %q, want %q: %v", name, got, test.want, err)
		}
	}
	for _, field := range []*schema.Field{f.minutes, f.score} {
		q := view.Query{Type: "Post", First: 1, Order: []view.Order{{Field: field}}}
		for range 4 {
			page, err := v.List(t.Context(), q)
			if err != nil || len(page.Cursors) != 1 {
				t.Fatal(field.Name, page, err)
			}
			q.After = page.Cursors[0]
		}
		if page, err := v.List(t.Context(), q); err != nil || len(page.Records) != 0 {
			t.Errorf("%s: the cursor of the last has more after it: %v", field.Name, err)
		}
	}
}

// Who fills the tables and waits long for the log, which may look through
// millions of subjects first, is not cut off as one that hangs.
func TestAFillThatWaitsForTheLogIsNotCutOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for longer than a process may be silent")
	}
	o, f := viewtest.Options(t), newFixture()
	first, err := view.OpenProjection(within(t), f.model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	second, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := view.OpenProjection(second, f.model, "log1", o); !errors.Is(err, context.Canceled) {
			t.Errorf("the second one was opened: %v", err)
		}
	})
	err = first.Fill(t.Context(), 1, func(add func([]view.Change) error) error {
		<-time.After(view.Silence + 3*time.Second)
		return add([]view.Change{{Seq: 1, Type: "Post", ID: "a", Raw: []byte(`{"id":"a"}`)}})
	})
	if err != nil {
		t.Error(err)
	}
	stop()
	wg.Wait()
}

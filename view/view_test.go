package view_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/fault"
	"tidings/schema"
	"tidings/view"
)

func TestGetKeepsOrderDuplicatesAndGaps(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "Post", object{"id": "a"}, object{"id": "b"}, object{"id": "nul\x00l"}, object{"id": `q"'ü`})
	for _, test := range []struct{ ask, want []string }{
		{nil, nil},
		{[]string{"b"}, []string{"b"}},
		{[]string{"x"}, []string{"-"}},
		{[]string{"b", "x", "a", "b"}, []string{"b", "-", "a", "b"}},
		{[]string{"nul\x00l", `q"'ü`, "nul"}, []string{"nul\x00l", `q"'ü`, "-"}},
	} {
		docs, err := v.Get(t.Context(), "Post", test.ask)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(t, docs); !slices.Equal(got, test.want) {
			t.Errorf("Get(%q) = %q, want %q", test.ask, got, test.want)
		}
	}
}

func TestGetTakesAnyNumberOfIDs(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "Post", object{"id": numbered(39_999)})
	ask := make([]string, 40_000)
	for i := range ask {
		ask[i] = numbered(i)
	}
	docs, err := v.Get(t.Context(), "Post", ask)
	if err != nil || len(docs) != len(ask) || docs[0] != nil || docs[39_999] == nil {
		t.Fatalf("got %d records, error %v", len(docs), err)
	}
}

func TestGetReturnsTheVeryBytes(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	raw := []byte(`{ "id":"a", "title":"A\u00e4", "title":"last \ud83d\ude00", "nested":{"title":"no","x":["}",{"]":1}]} }`)
	if err := v.Apply(t.Context(), 1, []view.Change{{Seq: 1, Type: "Post", ID: "a", Raw: raw}}); err != nil {
		t.Fatal(err)
	}
	page, err := v.List(t.Context(), view.Query{Type: "Post", Filter: &view.Filter{Field: f.title, Op: "eq", Value: "last 😀"}})
	if err != nil || len(page.Records) != 1 || string(page.Records[0]) != string(raw) {
		t.Fatalf("got %q, %v", page.Records, err)
	}
}

func TestUnknownTypesAreErrors(t *testing.T) {
	t.Parallel()
	v := fresh(t, newFixture().model)
	_, getErr := v.Get(t.Context(), "Nobody", []string{"a"})
	_, listErr := v.List(t.Context(), view.Query{Type: "Nobody"})
	_, countErr := v.Count(t.Context(), "Nobody", nil, "")
	if getErr == nil || listErr == nil || countErr == nil {
		t.Fatal(getErr, listErr, countErr)
	}
}

func TestApplyIsIdempotentAndMovesThePosition(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	apply := func(upto uint64, changes ...view.Change) {
		t.Helper()
		if err := v.Apply(t.Context(), upto, changes); err != nil {
			t.Fatal(err)
		}
	}
	first := view.Change{Seq: 3, Type: "Post", ID: "a", Raw: []byte(`{"id":"a","title":"one"}`)}
	second := view.Change{Seq: 7, Type: "Post", ID: "a", Raw: []byte(`{"id":"a","title":"two"}`)}
	apply(3, first)
	apply(9, first, second) // the first one again
	apply(5, view.Change{Seq: 4, Type: "Post", ID: "a"})
	apply(12, view.Change{Seq: 10, Type: "GoneFromTheModel", ID: "x", Raw: []byte(`{}`)})
	if v.Position() != 12 {
		t.Errorf("position %d", v.Position())
	}
	docs, err := v.Get(t.Context(), "Post", []string{"a"})
	if err != nil || string(docs[0]) != string(second.Raw) {
		t.Errorf("got %s, %v", docs, err)
	}
	apply(13, view.Change{Seq: 13, Type: "Post", ID: "a"})
	if n, err := v.Count(t.Context(), "Post", nil, ""); n != 0 || err != nil {
		t.Errorf("%d records after the delete, %v", n, err)
	}
}

func TestApplyIsAllOrNothing(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	good := view.Change{Seq: 1, Type: "Post", ID: "a", Raw: []byte(`{"id":"a"}`)}
	for name, bad := range map[string]view.Change{
		"no object":    {Seq: 2, Type: "Post", ID: "b", Raw: []byte(`[1]`)},
		"cut short":    {Seq: 2, Type: "Post", ID: "b", Raw: []byte(`{"id":"b"`)},
		"beyond upto":  {Seq: 4, Type: "Post", ID: "b", Raw: []byte(`{"id":"b"}`)},
		"out of order": {Seq: 0, Type: "Post", ID: "b", Raw: []byte(`{"id":"b"}`)},
	} {
		if err := v.Apply(t.Context(), 3, []view.Change{good, bad}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if n, _ := v.Count(t.Context(), "Post", nil, ""); n != 0 || v.Position() != 0 {
			t.Errorf("%s: %d records at position %d", name, n, v.Position())
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.Apply(cancelled, 3, []view.Change{good}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := v.Apply(t.Context(), 3, []view.Change{good}); err != nil || v.Position() != 3 {
		t.Error("the view does not work after failures:", err)
	}
}

func TestNamesThatSQLKeepsAndCaseThatItIgnores(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "Order",
		object{"id": "1", "group": "a", "Group": "b", "rowid": 7, "doc": "d", "seq": 5, "select": true},
		object{"id": "2", "group": "b", "Group": "a", "rowid": 6, "doc": "e", "seq": 4, "select": false})
	put(t, v, "group", object{"id": "lower"})
	put(t, v, "Group", object{"id": "upper"})
	put(t, v, "meta", object{"id": "m"})
	put(t, v, "sqlite_master", object{"id": "s"})
	for name, value := range map[string]any{"group": "a", "Group": "b", "rowid": int64(7), "doc": "d", "seq": 5, "select": true} {
		i := slices.IndexFunc(f.order.Fields, func(f *schema.Field) bool { return f.Name == name })
		page, err := v.List(t.Context(), view.Query{Type: "Order", Filter: &view.Filter{Field: f.order.Fields[i], Op: "eq", Value: value}})
		if got := ids(t, page.Records); err != nil || !slices.Equal(got, []string{"1"}) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for typ, want := range map[string]string{"group": "lower", "Group": "upper", "meta": "m", "sqlite_master": "s"} {
		page, err := v.List(t.Context(), view.Query{Type: typ})
		if got := ids(t, page.Records); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, %v", typ, got, err)
		}
	}
}

func TestRelatedIsNewestFirstWithALimitForEachParent(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	var records []object
	for i := range 30 {
		records = append(records, object{"id": numbered(i), "authorId": fmt.Sprint("u", i%3)})
	}
	put(t, v, "Post", records...)
	lists, err := v.Related(t.Context(), view.Related{Relation: f.posts, Parents: []string{"u2", "none", "u0", "u2"}, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"p000029", "p000026"}, {}, {"p000027", "p000024"}, {"p000029", "p000026"}}
	for i, w := range want {
		if got := ids(t, lists[i]); !slices.Equal(got, w) {
			t.Errorf("parent %d: %q, want %q", i, got, w)
		}
	}
	for owner, want := range map[string]int{"u0": 2, "u1": 0, "": 2} {
		lists, err := v.Related(t.Context(), view.Related{Relation: f.posts, Parents: []string{"u0"}, Limit: 2, Owner: owner})
		if err != nil || len(lists) != 1 || len(lists[0]) != want {
			t.Errorf("owner %q: %q, %v", owner, lists, err)
		}
	}
	if lists, err := v.Related(t.Context(), view.Related{Relation: f.posts, Parents: []string{"u0"}}); err != nil || len(lists[0]) != 0 {
		t.Error("limit 0 gave records", err)
	}
}

func TestRelatedThroughLeavesOutMissingTargets(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "User", object{"id": "z"}, object{"id": "a"}, object{"id": "m"})
	put(t, v, "Follow",
		object{"id": "f1", "followeeId": "z", "followerId": "m"},
		object{"id": "f2", "followeeId": "z", "followerId": "a"},
		object{"id": "f3", "followeeId": "z", "followerId": "gone"},
		object{"id": "f4", "followeeId": "z", "followerId": nil},
		object{"id": "f5", "followeeId": "a", "followerId": "z"})
	for _, test := range []struct {
		owner string
		limit int
		want  string
	}{{"", 2, "a m"}, {"", 1, "a"}, {"m", 1, "m"}, {"z", 9, ""}} {
		lists, err := v.Related(t.Context(), view.Related{Relation: f.followers, Parents: []string{"z"}, Limit: test.limit, Owner: test.owner})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(ids(t, lists[0]), " "); got != test.want {
			t.Errorf("owner %q, limit %d: %q, want %q", test.owner, test.limit, got, test.want)
		}
	}
}

func TestOwnedListOfWhatNobodyOwnsIsEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "Order", object{"id": "1"})
	page, err := v.List(t.Context(), view.Query{Type: "Order", Owner: "u1"})
	n, countErr := v.Count(t.Context(), "Order", nil, "u1")
	if len(page.Records) != 0 || n != 0 || err != nil || countErr != nil {
		t.Fatal(page, n, err, countErr)
	}
}

func TestReadersSeeWholeBatchesWhileAWriterApplies(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	const batches, size = 30, 10
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				before := v.Position()
				n, err := v.Count(t.Context(), "Post", nil, "")
				if err != nil || n%size != 0 || uint64(n) < before {
					t.Errorf("%d records at position %d or later: %v", n, before, err)
					return
				}
				page, err := v.List(t.Context(), view.Query{Type: "Post", Last: 5, Order: []view.Order{{Field: f.title}}})
				if err != nil || uint64(n) > 0 && len(page.Records) != 5 {
					t.Errorf("page of %d: %v", len(page.Records), err)
					return
				}
			}
		})
	}
	for b := range batches {
		var records []object
		for i := range size {
			records = append(records, object{"id": numbered(b*size + i), "title": fmt.Sprint(rand.IntN(99))})
		}
		put(t, v, "Post", records...)
		if n, err := v.Count(t.Context(), "Post", nil, ""); n != (b+1)*size || err != nil {
			t.Errorf("a read after Apply sees %d, %v", n, err)
		}
	}
	close(done)
	readers.Wait()
}

func TestContextEndsAStatement(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	records := make([]object, 100)
	for i := range records {
		records[i] = object{"id": numbered(i), "title": strings.Repeat("x", 60_000)}
	}
	put(t, v, "Post", records...)
	slow := &view.Filter{} // reads 2.4 GB
	for i := range 400 {
		slow.And = append(slow.And, &view.Filter{Field: f.title, Op: "notContains", Value: fmt.Sprint(i)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := v.Count(ctx, "Post", slow, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal("it ran to its end:", err)
	}
	for range 8 { // every reader still works
		if n, err := v.Count(t.Context(), "Post", nil, ""); n != len(records) || err != nil {
			t.Fatal(n, err)
		}
	}
}

func TestCloseWaitsAndThenRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := freshWith(t, f.model, view.Options{Dir: filepath.Join(t.TempDir(), "new")})
	put(t, v, "Post", object{"id": "a"})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for {
				if _, err := v.Get(t.Context(), "Post", []string{"a"}); err != nil {
					if !errors.Is(err, view.ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	if err := errors.Join(v.Close(), v.Close()); err != nil {
		t.Error(err)
	}
	readers.Wait()
	if err := v.Apply(t.Context(), 5, nil); !errors.Is(err, view.ErrClosed) {
		t.Error(err)
	}
}

func TestInputThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	filter := func(field *schema.Field, op string, value any) view.Query {
		return view.Query{Filter: &view.Filter{Field: field, Op: op, Value: value}}
	}
	var deep *view.Filter
	for range 600 {
		deep = &view.Filter{Not: deep}
	}
	wide := &view.Filter{}
	for range 600 {
		wide.And = append(wide.And, &view.Filter{Field: f.title, Op: "ne", Value: "x"})
	}
	for name, test := range map[string]struct {
		query view.Query
		field string
	}{
		"filter without index": {filter(f.content, "eq", "x"), "filter.content"},
		"order without index":  {view.Query{Order: []view.Order{{Field: f.content}}}, "orderBy.content"},
		"unknown comparison":   {filter(f.title, "like", "x"), "filter.title.like"},
		"text for a number":    {filter(f.minutes, "eq", "x"), "filter.minutes.eq"},
		"number for text":      {filter(f.title, "eq", int64(1)), "filter.title.eq"},
		"bool for text":        {filter(f.title, "eq", true), "filter.title.eq"},
		"no moment":            {filter(f.created, "lt", "yesterday"), "filter.createdAt.lt"},
		"less than null":       {filter(f.title, "lt", nil), "filter.title.lt"},
		"no list":              {filter(f.title, "in", "x"), "filter.title.in"},
		"wrong value in list":  {filter(f.title, "in", []any{1.5}), "filter.title.in"},
		"between one":          {filter(f.title, "between", []any{"x"}), "filter.title.between"},
		"text op on a number":  {filter(f.minutes, "beginsWith", "1"), "filter.minutes.beginsWith"},
		"text op with null":    {filter(f.title, "contains", nil), "filter.title.contains"},
		"too many values":      {filter(f.title, "in", make([]any, 20_000)), "filter.title.in"},
		"too deep":             {view.Query{Filter: deep}, "filter"},
		"too wide":             {view.Query{Filter: wide}, "filter"},
		"too wide below":       {view.Query{Filter: &view.Filter{Not: wide}}, "filter"},
		"both ways":            {view.Query{First: 1, Last: 1}, "last"},
		"negative first":       {view.Query{First: -1}, "first"},
		"negative last":        {view.Query{Last: -1}, "last"},
		"no cursor":            {view.Query{After: "%"}, "after"},
		"long cursor":          {view.Query{Before: strings.Repeat("A", 2<<20)}, "before"},
	} {
		test.query.Type = "Post"
		_, err := v.List(t.Context(), test.query)
		if got, ok := errors.AsType[*fault.Error](err); !ok || got.Code != fault.BadUserInput || got.Field != test.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeepestFilterThatIsAllowedRuns(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "Post", object{"id": "a", "title": "x"})
	leaf := &view.Filter{Field: f.title, Op: "eq", Value: "x"}
	deep, wide := leaf, &view.Filter{}
	for range 496 {
		deep = &view.Filter{Not: deep}
		wide.Or = append(wide.Or, leaf)
	}
	many := make([]any, 5_000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, filter := range map[string]*view.Filter{"deep": deep, "wide": wide, "all": {Not: &view.Filter{Not: &view.Filter{And: wide.Or}}}, "many": {Field: f.title, Op: "notIn", Value: many}} {
		if n, err := v.Count(t.Context(), "Post", filter, ""); err != nil || n != 1 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

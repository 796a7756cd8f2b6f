package view_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/schema"
	"tidings/view"
)

// What follows says in plain Go what lists mean; the property test compares.

// sortable returns the field's value so that equal kinds compare with compareValues.
func sortable(f *schema.Field, o object) any {
	v := o[f.Name]
	if f.Kind == schema.KindDateTime && v != nil {
		t, err := time.Parse(time.RFC3339Nano, v.(string))
		if err != nil {
			panic(err)
		}
		return t
	}
	return v
}

// compareValues orders null before every value.
func compareValues(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string))
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case time.Time:
		return a.Compare(b.(time.Time))
	case bool:
		number := map[bool]int{true: 1}
		return cmp.Compare(number[a], number[b.(bool)])
	}
	panic(fmt.Sprintf("%T", a))
}

func holds(f *view.Filter, o object) bool {
	if f == nil {
		return true
	}
	if f.Field != nil && !comparison(f, o) || f.Not != nil && holds(f.Not, o) {
		return false
	}
	for _, each := range f.And {
		if !holds(each, o) {
			return false
		}
	}
	return f.Or == nil || slices.ContainsFunc(f.Or, func(each *view.Filter) bool { return holds(each, o) })
}

func comparison(f *view.Filter, o object) bool {
	have := sortable(f.Field, o)
	than := func(v any) int { return compareValues(have, sortable(f.Field, object{f.Field.Name: v})) }
	some := have != nil
	switch f.Op {
	case "eq":
		return than(f.Value) == 0
	case "ne":
		return than(f.Value) != 0
	case "lt":
		return some && than(f.Value) < 0
	case "le":
		return some && than(f.Value) <= 0
	case "gt":
		return some && than(f.Value) > 0
	case "ge":
		return some && than(f.Value) >= 0
	case "in":
		return slices.ContainsFunc(f.Value.([]any), func(v any) bool { return than(v) == 0 })
	case "notIn":
		return !slices.ContainsFunc(f.Value.([]any), func(v any) bool { return than(v) == 0 })
	case "between":
		l := f.Value.([]any)
		return some && than(l[0]) >= 0 && than(l[1]) <= 0
	case "beginsWith":
		return some && strings.HasPrefix(have.(string), f.Value.(string))
	case "contains":
		return some && strings.Contains(have.(string), f.Value.(string))
	case "notContains":
		return !some || !strings.Contains(have.(string), f.Value.(string))
	}
	panic(f.Op)
}

// sorted returns the ids of the records that a query is about, in its order.
func sorted(records []object, q view.Query) []string {
	var chosen []object
	for _, o := range records {
		if holds(q.Filter, o) && (q.Owner == "" || o["authorId"] == q.Owner) {
			chosen = append(chosen, o)
		}
	}
	slices.SortFunc(chosen, func(a, b object) int {
		desc := false
		for i, by := range q.Order {
			if slices.ContainsFunc(q.Order[:i], func(o view.Order) bool { return o.Field == by.Field }) {
				continue // naming a field again says nothing
			}
			desc = by.Desc
			if c := compareValues(sortable(by.Field, a), sortable(by.Field, b)); c != 0 {
				return direction(c, desc)
			}
		}
		return direction(strings.Compare(a["id"].(string), b["id"].(string)), desc)
	})
	out := make([]string, len(chosen))
	for i, o := range chosen {
		out[i] = o["id"].(string)
	}
	return out
}

func direction(c int, desc bool) int {
	if desc {
		return -c
	}
	return c
}

// generator makes random records and queries out of few values, so that ties,
// nulls and boundaries are common.
type generator struct {
	*rand.Rand
	fixture
}

func (g generator) value(f *schema.Field, nullable bool) any {
	if nullable && g.IntN(4) == 0 {
		return nil
	}
	pick := func(values ...any) any { return values[g.IntN(len(values))] }
	switch f.Kind {
	case schema.KindInt:
		return int64(g.IntN(7) - 3)
	case schema.KindFloat:
		return pick(-1.5, 0.0, 2.25, 1e300, float64(g.IntN(3)))
	case schema.KindBoolean:
		return pick(true, false)
	case schema.KindDateTime:
		return pick("2026-11-20T07:25:22Z", "2026-11-20T07:25:22.5Z", "2026-11-20T07:25:22.25Z", "2026-11-20T09:25:22+02:00", "1999-12-31T23:59:59.999999999Z")
	case schema.KindEnum:
		return pick("NOTE", "LINK")
	}
	return pick("", "a", "A", "ab", "aB%", "a%b", "a_b", "ä", "äb", "a\x00b", "\U0010FFFF", "\U0010FFFFz", "\uD7FFx", "\uE000", "'); DROP", "-Inf", "1")
}

func (g generator) record(id string) object {
	o := object{"id": id}
	for _, f := range g.post.Fields[1:] {
		if v := g.value(f, true); v != nil || g.IntN(2) == 0 {
			o[f.Name] = v
		}
	}
	return o
}

func (g generator) filter(depth int) *view.Filter {
	f := &view.Filter{}
	if kind := g.IntN(6); depth > 0 && kind < 3 {
		children := make([]*view.Filter, g.IntN(4))
		for i := range children {
			children[i] = g.filter(depth - 1)
		}
		switch kind {
		case 0:
			f.And = children
		case 1:
			f.Or = children
		case 2:
			f.Not = g.filter(depth - 1)
		}
		if g.IntN(2) == 0 {
			return f
		}
	}
	ops := []string{"eq", "ne", "lt", "le", "gt", "ge", "in", "notIn", "between"}
	f.Field = g.indexed()
	if f.Field.Kind == schema.KindString || f.Field.Kind == schema.KindID || f.Field.Kind == schema.KindEnum {
		ops = append(ops, "beginsWith", "contains", "notContains")
	}
	f.Op = ops[g.IntN(len(ops))]
	switch f.Op {
	case "in", "notIn":
		list := make([]any, g.IntN(5))
		for i := range list {
			list[i] = g.value(f.Field, true)
		}
		f.Value = list
	case "between":
		f.Value = []any{g.value(f.Field, false), g.value(f.Field, false)}
	default:
		f.Value = g.value(f.Field, f.Op == "eq" || f.Op == "ne")
	}
	return f
}

func (g generator) indexed() *schema.Field {
	fields := []*schema.Field{g.post.Fields[0], g.title, g.minutes, g.score, g.draft, g.created, g.kind}
	return fields[g.IntN(len(fields))]
}

func (g generator) query() view.Query {
	q := view.Query{Type: "Post"}
	if g.IntN(5) > 0 {
		q.Filter = g.filter(3)
	}
	if g.IntN(4) == 0 {
		q.Owner = g.value(g.author, false).(string)
	}
	for range g.IntN(4) {
		q.Order = append(q.Order, view.Order{Field: g.indexed(), Desc: g.IntN(2) == 0})
	}
	if g.IntN(6) == 0 {
		q.Order = append(q.Order, view.Order{Field: g.post.Fields[0], Desc: g.IntN(2) == 0})
	}
	return q
}

func TestPagesEqualAPlainReference(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := generator{rand.New(rand.NewPCG(seed, 1)), newFixture()}
			v := fresh(t, g.model)
			records := make([]object, 80)
			for i := range records {
				records[i] = g.record([]string{"", "!", "-", "a", "ä"}[g.IntN(5)] + numbered(g.IntN(1000)*100+i))
			}
			put(t, v, "Post", records...)
			for range 30 {
				q := g.query()
				want := sorted(records, q)
				if n, err := v.Count(t.Context(), "Post", q.Filter, q.Owner); err != nil || n != len(want) {
					t.Fatalf("count %d, want %d, %v", n, len(want), err)
				}
				size := 1 + g.IntN(30)
				walk(t, v, q, want, size, false)
				walk(t, v, q, want, size, true)
				between(t, v, q, want, g)
			}
		})
	}
}

// walk reads the whole list page by page and compares each page.
func walk(t *testing.T, v records, q view.Query, want []string, size int, backward bool) {
	t.Helper()
	low, high := 0, len(want)
	for {
		if backward {
			q.Last = size
			low = max(0, high-size)
		} else {
			q.First = size
			high = min(len(want), low+size)
		}
		page, err := v.List(t.Context(), q)
		if err != nil {
			t.Fatalf("%v\n%s", err, describe(q))
		}
		got := ids(t, page.Records)
		if !slices.Equal(got, want[low:high]) || page.HasPrevious != (low > 0) || page.HasNext != (high < len(want)) || len(page.Cursors) != len(got) {
			t.Fatalf("records %d to %d of %d: got %q, previous %t, next %t\nwant %q\n%s",
				low, high, len(want), got, page.HasPrevious, page.HasNext, want[low:high], describe(q))
		}
		switch {
		case backward && page.HasPrevious:
			high = low
			q.Before = page.Cursors[0]
		case !backward && page.HasNext:
			low = high
			q.After = page.Cursors[len(page.Cursors)-1]
		default:
			return
		}
	}
}

// between reads with both cursors set.
func between(t *testing.T, v records, q view.Query, want []string, g generator) {
	t.Helper()
	if len(want) < 2 {
		return
	}
	q.First = len(want)
	all, err := v.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	a := g.IntN(len(want) - 1)
	b := a + 1 + g.IntN(len(want)-a-1)
	q.After, q.Before = all.Cursors[a], all.Cursors[b]
	for _, backward := range []bool{false, true} {
		size := 1 + g.IntN(5)
		low, high := a+1, min(b, a+1+size)
		q.First, q.Last = size, 0
		if backward {
			q.First, q.Last = 0, size
			low, high = max(a+1, b-size), b
		}
		page, err := v.List(t.Context(), q)
		if got := ids(t, page.Records); err != nil || !slices.Equal(got, want[low:high]) || !page.HasNext || !page.HasPrevious {
			t.Fatalf("between %d and %d: got %q, want %q, previous %t, next %t, %v\n%s", a, b, got, want[low:high], page.HasPrevious, page.HasNext, err, describe(q))
		}
	}
}

func describe(q view.Query) string {
	var b strings.Builder
	for _, o := range q.Order {
		fmt.Fprintf(&b, "%s desc=%t, ", o.Field.Name, o.Desc)
	}
	fmt.Fprintf(&b, "owner %q, first %d, last %d, filter ", q.Owner, q.First, q.Last)
	var write func(*view.Filter)
	write = func(f *view.Filter) {
		if f == nil {
			b.WriteString("-")
			return
		}
		b.WriteString("{")
		if f.Field != nil {
			fmt.Fprintf(&b, "%s %s %q ", f.Field.Name, f.Op, fmt.Sprint(f.Value))
		}
		for _, each := range f.And {
			b.WriteString("and ")
			write(each)
		}
		if f.Or != nil {
			b.WriteString("or[")
			for _, each := range f.Or {
				write(each)
			}
			b.WriteString("]")
		}
		if f.Not != nil {
			b.WriteString("not ")
			write(f.Not)
		}
		b.WriteString("}")
	}
	write(q.Filter)
	return b.String()
}

func TestWalkSeesWhatStaysOnceWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(7, 7)), newFixture()}
	v := fresh(t, g.model)
	var stay []object
	for i := range 100 {
		stay = append(stay, g.record(numbered(i*10)))
	}
	put(t, v, "Post", stay...)
	for _, q := range []view.Query{
		{Type: "Post", First: 7, Order: []view.Order{{Field: g.title}, {Field: g.minutes, Desc: true}}},
		{Type: "Post", First: 7, Order: []view.Order{{Field: g.created, Desc: true}}},
	} {
		var seen []string
		for round := 0; ; round++ {
			page, err := v.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids(t, page.Records) {
				if !strings.HasPrefix(id, "q") {
					seen = append(seen, id)
				}
			}
			if !page.HasNext {
				break
			}
			q.After = page.Cursors[len(page.Cursors)-1]
			// newcomers, and the record under the cursor goes when it is one
			put(t, v, "Post", g.record(fmt.Sprintf("q%03d", round)), g.record(fmt.Sprintf("q%03d", round+500)))
			if last := ids(t, page.Records[len(page.Records)-1:])[0]; strings.HasPrefix(last, "q") {
				seq := v.Position() + 1
				if err := v.Apply(t.Context(), seq, []view.Change{{Seq: seq, Type: "Post", ID: last}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if want := sorted(stay, q); !slices.Equal(seen, want) {
			t.Errorf("saw %d, want %d:\n%q\n%q", len(seen), len(want), seen, want)
		}
	}
}

func TestValuesThatDoNotFitTheirFieldAreNull(t *testing.T) {
	t.Parallel()
	g := newFixture()
	v := fresh(t, g.model)
	put(t, v, "Post",
		object{"id": "a", "title": 5, "minutes": "5", "score": true, "draft": 0, "createdAt": "yesterday"},
		object{"id": "b", "title": []string{"x"}, "minutes": 5.5, "score": object{}, "draft": "true", "createdAt": 7})
	if err := v.Apply(t.Context(), 3, []view.Change{{Seq: 3, Type: "Post", ID: "c",
		Raw: []byte(`{"id":"c","title":"t","minutes":5e0,"score":1e999,"draft":true,"createdAt":"2026-11-20T08:00:00+01:00"}`)}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		filter *view.Filter
		want   string
	}{
		{&view.Filter{Field: g.title, Op: "eq"}, "a b"},
		{&view.Filter{Field: g.minutes, Op: "eq"}, "a b"},
		{&view.Filter{Field: g.minutes, Op: "eq", Value: 5}, "c"},
		{&view.Filter{Field: g.score, Op: "eq"}, "a b c"},
		{&view.Filter{Field: g.draft, Op: "ne"}, "c"},
		{&view.Filter{Field: g.created, Op: "eq", Value: "2026-11-20T07:00:00Z"}, "c"},
	} {
		page, err := v.List(t.Context(), view.Query{Type: "Post", Filter: test.filter})
		if got := strings.Join(ids(t, page.Records), " "); got != test.want || err != nil {
			t.Errorf("%s %s: %q, want %q, %v", test.filter.Field.Name, test.filter.Op, got, test.want, err)
		}
	}
}

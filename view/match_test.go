package view_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidings/fault"
	"tidings/schema"
	"tidings/view"
)

// Whoever narrows a list by a filter and whoever narrows changes by it must get
// the same records: what SQL says and what a matcher says is compared, of
// records that also hold what does not fit their fields.
func TestAMatcherSaysWhatAListSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := generator{rand.New(rand.NewPCG(seed, 2)), newFixture()}
			v := fresh(t, g.model)
			raws := map[string][]byte{}
			var changes []view.Change
			for i := range 120 {
				id := []string{"", "!", "-", "a", "ä"}[g.IntN(5)] + numbered(i)
				raws[id] = g.odd(t, id)
				changes = append(changes, view.Change{Seq: uint64(i + 1), Type: "Post", ID: id, Raw: raws[id]})
			}
			if err := v.Apply(t.Context(), uint64(len(changes)), changes); err != nil {
				t.Fatal(err)
			}
			for range 200 {
				g.compare(t, v, raws, g.filter(3))
			}
		})
	}
}

// odd is a record of which some values do not fit, or are written strangely.
func (g generator) odd(t *testing.T, id string) []byte {
	t.Helper()
	o := g.record(id)
	for _, f := range g.post.Fields[1:] {
		if g.IntN(6) == 0 {
			values := []string{`5.0`, `-2e0`, `9007199254740993`, `1e999`, `"x"`, `[]`, `{"id":"y"}`, `true`, `0`, `"1999-12-31T23:59:59.999999999Z"`, `"\u0061"`, `-0.0`}
			o[f.Name] = json.RawMessage(values[g.IntN(len(values))])
		}
	}
	raw, err := json.Marshal(map[string]any(o))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (g generator) compare(t *testing.T, v records, raws map[string][]byte, f *view.Filter) {
	t.Helper()
	page, err := v.List(t.Context(), view.Query{Type: "Post", Filter: f, First: len(raws)})
	m, bad := view.NewMatcher(g.post, f)
	if err != nil || bad != nil {
		t.Fatalf("%v, %v\n%s", err, bad, describe(view.Query{Filter: f}))
	}
	listed := ids(t, page.Records)
	lead, keys := m.Keys()
	for id, raw := range raws {
		want := slices.Contains(listed, id)
		if got := m.Match(raw); got != want {
			t.Fatalf("%s matches %t, the list has it: %t\n%s", raw, got, want, describe(view.Query{Filter: f}))
		}
		if want && lead != nil && !slices.Contains(keys, view.KeyOf(lead, raw)) {
			t.Fatalf("%s has another %s than %v\n%s", raw, lead.Name, keys, describe(view.Query{Filter: f}))
		}
	}
}

func TestAMatcherIsLedByTheNarrowestEquality(t *testing.T) {
	t.Parallel()
	g := newFixture()
	eq := func(f *schema.Field, value any) *view.Filter { return &view.Filter{Field: f, Op: "eq", Value: value} }
	in := &view.Filter{Field: g.kind, Op: "in", Value: []any{"NOTE", "LINK"}}
	id := eq(g.post.Fields[0], "x")
	for _, c := range []struct {
		filter *view.Filter
		field  string
		keys   int
	}{
		{nil, "", 0},
		{&view.Filter{Field: g.minutes, Op: "gt", Value: 3}, "", 0},
		{eq(g.minutes, 3), "minutes", 1},
		{eq(g.minutes, nil), "minutes", 1},
		{in, "kind", 2},
		{&view.Filter{And: []*view.Filter{in, {And: []*view.Filter{eq(g.minutes, 3)}}}}, "minutes", 1},
		{&view.Filter{And: []*view.Filter{eq(g.minutes, 3), id}}, "id", 1},
		{&view.Filter{Or: []*view.Filter{id}}, "", 0},
		{&view.Filter{Not: id}, "", 0},
	} {
		m, err := view.NewMatcher(g.post, c.filter)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		f, keys := m.Keys()
		if f != nil {
			name = f.Name
		}
		if name != c.field || len(keys) != c.keys {
			t.Errorf("%s: led by %q with %d keys", describe(view.Query{Filter: c.filter}), name, len(keys))
		}
	}
}

func TestEqualValuesHaveEqualKeys(t *testing.T) {
	t.Parallel()
	g := newFixture()
	key := func(f *schema.Field, value string) view.Key {
		return view.KeyOf(f, fmt.Appendf(nil, `{"id":"a",%q:%s}`, f.Name, value))
	}
	for _, c := range []struct {
		f     *schema.Field
		a, b  string
		equal bool
	}{
		{g.minutes, "5", "5.0", true},
		{g.score, "5", "5e0", true},
		{g.score, "0", "-0.0", true},
		{g.minutes, "9007199254740993", "9007199254740992", false},
		{g.created, `"2026-11-20T07:25:22Z"`, `"2026-11-20T09:25:22.0+02:00"`, true},
		{g.title, `"a"`, `"\u0061"`, true},
		{g.title, `"1"`, `1`, false},
		{g.title, `null`, `7`, true},
	} {
		if (key(c.f, c.a) == key(c.f, c.b)) != c.equal {
			t.Errorf("%s: %s and %s, equal %t wanted", c.f.Name, c.a, c.b, c.equal)
		}
	}
	if view.KeyOf(g.title, []byte(`{`)) != view.KeyOf(g.title, []byte(`{}`)) {
		t.Error("what is no object has a value")
	}
}

func TestAMatcherRefusesWhatAListRefuses(t *testing.T) {
	t.Parallel()
	g := newFixture()
	v := fresh(t, g.model)
	many := make([]any, 10_001)
	for i := range many {
		many[i] = "x"
	}
	wide := &view.Filter{}
	for range 501 {
		wide.And = append(wide.And, &view.Filter{Field: g.title, Op: "ne", Value: "x"})
	}
	for _, f := range []*view.Filter{
		{Field: g.content, Op: "eq", Value: "x"},
		{Field: g.title, Op: "like", Value: "x"},
		{Field: g.title, Op: "eq", Value: 5},
		{Field: g.title, Op: "lt"},
		{Field: g.title, Op: "in", Value: "x"},
		{Field: g.title, Op: "in", Value: []any{5}},
		{Field: g.title, Op: "in", Value: many},
		{Field: g.title, Op: "between", Value: []any{"a"}},
		{Field: g.title, Op: "contains", Value: 5},
		{Field: g.minutes, Op: "beginsWith", Value: "x"},
		{Field: g.created, Op: "eq", Value: "yesterday"},
		{Not: &view.Filter{Or: []*view.Filter{{Field: g.title, Op: "lt"}}}},
		wide,
	} {
		_, listed := v.List(t.Context(), view.Query{Type: "Post", Filter: f})
		_, matched := view.NewMatcher(g.post, f)
		if !fault.Is(listed, fault.BadUserInput) || !fault.Is(matched, fault.BadUserInput) || fault.Of(listed).Error() != fault.Of(matched).Error() {
			t.Errorf("the list says %v, the matcher %v", listed, matched)
		}
	}
}

func TestApplyTellsWhatARecordWas(t *testing.T) {
	t.Parallel()
	g := newFixture()
	v := fresh(t, g.model)
	put(t, v, "Post", object{"id": "a", "title": "1"}, object{"id": "b", "title": "1"})
	at := v.Position()
	raw := func(n int) []byte { return fmt.Appendf(nil, `{"id":"a","title":"%d"}`, n) }
	changes := []view.Change{
		{Seq: at + 1, Type: "Post", ID: "a", Raw: raw(2), Look: true},
		{Seq: at + 2, Type: "Post", ID: "a", Raw: raw(3), Look: true},
		{Seq: at + 3, Type: "Post", ID: "b", Raw: raw(2)},
		{Seq: at + 4, Type: "Post", ID: "a", Look: true},
		{Seq: at + 5, Type: "Post", ID: "a", Raw: raw(5), Look: true},
		{Seq: at + 6, Type: "Gone", ID: "a", Raw: raw(5), Look: true},
	}
	if err := v.Apply(t.Context(), at+6, changes); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`{"id":"a","title":"1"}`, string(raw(2)), "", string(raw(3)), "", ""} {
		if got := string(changes[i].Before); got != want {
			t.Errorf("change %d: before it %q, want %q", i, got, want)
		}
	}
}

package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/schema"
)

// A page is a range of one index: of the order's where many records match, of
// the filter's where few do, and only then is anything sorted.
func TestListUsesTheIndexThatIsRight(t *testing.T) {
	t.Parallel()
	field := func(name string, kind schema.Kind) *schema.Field {
		return &schema.Field{Name: name, Kind: kind, Indexed: true, Type: ast.NamedType(name, nil)}
	}
	id, kind := field("id", schema.KindID), field("kind", schema.KindEnum)
	created, author := field("createdAt", schema.KindDateTime), field("authorId", schema.KindID)
	post := &schema.Resource{Name: "Post", Owner: author, Fields: []*schema.Field{id, kind, created, author}}
	v, err := Open(t.Context(), &schema.Model{Resources: []*schema.Resource{post}}, "log", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	changes := make([]Change, 2*narrowEnough)
	for i := range changes {
		raw := fmt.Sprintf(`{"kind":"%s","authorId":"u%d","createdAt":"2026-11-20T07:25:22Z"}`, []string{"NOTE", "LINK"}[i%900/899], i%100)
		changes[i] = Change{Seq: uint64(i + 1), Type: "Post", ID: fmt.Sprint(i), Raw: []byte(raw)}
	}
	if err := v.Apply(t.Context(), uint64(len(changes)), changes); err != nil {
		t.Fatal(err)
	}
	if err := v.write(t.Context(), v.Position()); err != nil {
		t.Fatal(err)
	}
	is := func(f *schema.Field, value string) *Filter { return &Filter{Field: f, Op: "eq", Value: value} }
	many, few, byTime := is(kind, "NOTE"), is(kind, "LINK"), []Order{{Field: created, Desc: true}}
	for name, test := range map[string]struct {
		query Query
		want  string // in SQLite's words; "Post." begins the name of an index
	}{
		"nothing":             {Query{}, "SCAN Post USING INDEX Post.id"},
		"by time":             {Query{Order: byTime}, "SCAN Post USING INDEX Post.createdAt.1"},
		"many by id":          {Query{Filter: many}, "SEARCH Post USING INDEX Post.kind.0 (kind=?)"},
		"many by time":        {Query{Filter: many, Order: byTime}, "SCAN Post USING INDEX Post.createdAt.1"},
		"few by time":         {Query{Filter: few, Order: byTime}, "SEARCH Post USING INDEX Post.kind.0 (kind=?); USE TEMP B-TREE FOR ORDER BY"},
		"many and few":        {Query{Filter: &Filter{And: []*Filter{many, is(author, "u1")}}, Order: byTime}, "SEARCH Post USING INDEX Post.authorId.2 (authorId=?); USE TEMP B-TREE FOR ORDER BY"},
		"owner, many":         {Query{Filter: many, Order: byTime, Owner: "u2"}, "SEARCH Post USING INDEX Post.authorId.2 (authorId=?); USE TEMP B-TREE FOR ORDER BY"},
		"many or few":         {Query{Filter: &Filter{Or: []*Filter{many, few}}}, "SCAN Post USING INDEX Post.id"},
		"few or few":          {Query{Filter: &Filter{Or: []*Filter{few, is(author, "u1")}}}, "MULTI-INDEX OR; INDEX 1; SEARCH Post USING INDEX Post.kind.0 (kind=?); INDEX 2; SEARCH Post USING INDEX Post.authorId.2 (authorId=?); USE TEMP B-TREE FOR ORDER BY"},
		"not":                 {Query{Filter: &Filter{Not: few}}, "SCAN Post USING INDEX Post.id"},
		"begins with many":    {Query{Filter: &Filter{Field: kind, Op: "beginsWith", Value: "NO"}}, "SCAN Post USING INDEX Post.id"},
		"begins in order":     {Query{Filter: &Filter{Field: kind, Op: "beginsWith", Value: "NO"}, Order: []Order{{Field: kind}}}, "SEARCH Post USING INDEX Post.kind.0 (kind>? AND kind<?)"},
		"after, by id":        {Query{After: "x"}, "SEARCH Post USING INDEX Post.id (id>?)"},
		"after, by time":      {Query{After: "x", Order: byTime}, "SEARCH Post USING INDEX Post.createdAt.1 ((createdAt,id)<(?,?))"},
		"after, many":         {Query{After: "x", Filter: many}, "SEARCH Post USING INDEX Post.kind.0 (kind=? AND id>?)"},
		"after, many by time": {Query{After: "x", Filter: many, Order: byTime}, "SEARCH Post USING INDEX Post.createdAt.1 ((createdAt,id)<(?,?))"},
	} {
		t.Run(name, func(t *testing.T) {
			q := test.query
			q.Type = "Post"
			after := q.After != ""
			q.After = ""
			l, err := newListing(v.tables["Post"], q)
			if err != nil {
				t.Fatal(err)
			}
			if after {
				l.after = []any{"2026-11-20T07:25:22.000000000Z", "5"}[2-len(l.sorting.terms):]
			}
			if got := plan(t, v.writer, l); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func plan(t *testing.T, s *session, l *listing) string {
	t.Helper()
	if err := l.chooseGuide(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w, err := l.pageSQL()
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	err = s.query(t.Context(), "EXPLAIN QUERY PLAN "+w.sql.String(), w.args, func(scan func(...any) error) error {
		var a, b, c int
		var step string
		err := scan(&a, &b, &c, &step)
		steps = append(steps, step)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "; ")
}

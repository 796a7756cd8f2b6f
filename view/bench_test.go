package view_test

import (
	"fmt"
	"strings"
	"testing"

	"tidings/view"
)

const (
	authors = 20
	each    = 1000
)

// filled is a view with 20 authors of 1,000 posts each, of about 400 bytes. It
// remembers nothing, so that every read is one of SQLite, or of PostgreSQL where
// there is one for tests.
func filled(b *testing.B) (records, fixture) {
	f := newFixture()
	v := freshWith(b, f.model, view.Options{Dir: b.TempDir(), Memory: -1})
	for batch := range authors * each / 2000 {
		if err := v.Apply(b.Context(), uint64((batch+1)*2000), posts(batch*2000, 2000)); err != nil {
			b.Fatal(err)
		}
	}
	var users, follows []object
	for i := range authors {
		users = append(users, object{"id": fmt.Sprint("u", i), "name": "n"})
		for j := range authors {
			follows = append(follows, object{"id": fmt.Sprintf("f%03d", i*authors+j), "followerId": fmt.Sprint("u", j), "followeeId": fmt.Sprint("u", i)})
		}
	}
	put(b, v, "User", users...)
	put(b, v, "Follow", follows...)
	if s, ok := v.(*shared); ok {
		if err := view.Analyze(b.Context(), s.projection); err != nil { // as the server does within a minute
			b.Fatal(err)
		}
	}
	return v, f
}

func posts(from, n int) []view.Change {
	changes := make([]view.Change, n)
	for i := range changes {
		id := numbered(from + i)
		changes[i] = view.Change{Seq: uint64(from + i + 1), Type: "Post", ID: id, Raw: fmt.Appendf(nil,
			`{"id":%q,"authorId":"u%d","title":"title %d","kind":"NOTE","minutes":%d,"score":1.5,"draft":false,"createdAt":"2026-11-20T07:%02d:%02dZ","content":%q}`,
			id, (from+i)%authors, from+i, i%60, i/60%60, i%60, strings.Repeat("x", 200))}
	}
	return changes
}

func BenchmarkApply2000(b *testing.B) {
	f := newFixture()
	v := freshWith(b, f.model, view.Options{Dir: b.TempDir()})
	n := 0
	for b.Loop() {
		b.StopTimer()
		batch := posts(n, 2000)
		n += 2000
		b.StartTimer()
		if err := v.Apply(b.Context(), uint64(n), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkGet(b *testing.B) {
	v, _ := filled(b)
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			ids := make([]string, n)
			for i := range ids {
				ids[i] = numbered(i * 97)
			}
			for b.Loop() {
				if docs, err := v.Get(b.Context(), "Post", ids); err != nil || docs[n-1] == nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRelated20x5(b *testing.B) {
	v, f := filled(b)
	parents := make([]string, authors)
	for i := range parents {
		parents[i] = fmt.Sprint("u", i)
	}
	for name, q := range map[string]view.Related{
		"direct":  {Relation: f.posts, Parents: parents, Limit: 5},
		"owned":   {Relation: f.posts, Parents: parents, Limit: 5, Owner: "u1"},
		"through": {Relation: f.followers, Parents: parents, Limit: 5},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if lists, err := v.Related(b.Context(), q); err != nil || len(lists[1]) != 5 {
					b.Fatal(err, len(lists[1]))
				}
			}
		})
	}
}

func BenchmarkList20(b *testing.B) {
	v, f := filled(b)
	for name, q := range map[string]view.Query{
		"byID":       {},
		"byTime":     {Order: []view.Order{{Field: f.created, Desc: true}}},
		"byTwo":      {Order: []view.Order{{Field: f.kind}, {Field: f.title, Desc: true}}},
		"beginsWith": {Filter: &view.Filter{Field: f.title, Op: "beginsWith", Value: "title 19"}, Order: []view.Order{{Field: f.title}}},
		"owned":      {Owner: "u3"},
		"many":       {Filter: &view.Filter{Field: f.kind, Op: "eq", Value: "NOTE"}, Order: []view.Order{{Field: f.created, Desc: true}}},
		"few":        {Filter: &view.Filter{Field: f.title, Op: "beginsWith", Value: "title 199"}, Order: []view.Order{{Field: f.created, Desc: true}}},
	} {
		q.Type, q.First = "Post", 20
		page, err := v.List(b.Context(), q)
		if err != nil || len(page.Records) != 20 {
			b.Fatal(err)
		}
		for which, after := range map[string]string{"first": "", "next": page.Cursors[19]} {
			q.After = after
			b.Run(name+"/"+which, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if page, err := v.List(b.Context(), q); err != nil || len(page.Records) != 20 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	f := newFixture()
	for b.Loop() {
		v, err := view.Open(b.Context(), f.model, "log1", view.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

package graphql_test

import (
	"fmt"
	"testing"

	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

func benchService(b *testing.B) *service {
	s := &service{Service: resourcetest.New(b, socialDir(b))}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: functions()}); err != nil {
		b.Fatal(err)
	}
	var last resource.Record
	for i := range 20 {
		id := fmt.Sprintf("user%02d", i)
		s.create(b, "User", fmt.Sprintf(`{"id":%q,"name":"User %d","email":"%s@example.org","avatar":"https://example.org/%s.png"}`, id, i, id, id))
		for n := range 5 {
			last = s.submit(b, "Post", fmt.Sprintf(`{"authorId":%q,"title":"Post %d of %s","excerpt":"An excerpt of some length, as they are"}`, id, n, id))
		}
	}
	if err := s.Client.WaitFor(b.Context(), last.Seq); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchmark(b *testing.B, query string) {
	s := benchService(b)
	req := graphql.Request{Query: query}
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		size = len(s.engine.Execute(b.Context(), admin, req).Body)
	}
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkObjectOfSixFields(b *testing.B) {
	benchmark(b, `{ user(id: "user01") { id name email adminNotes avatar createdAt } }`)
}

func BenchmarkListOfTwentyTimesFive(b *testing.B) {
	benchmark(b, `{ users(first: 20) { nodes { id name email avatar posts(limit: 5) { id title excerpt kind createdAt } } } }`)
}

// The same without reading: what the engine itself costs.
func BenchmarkListOfTwentyTimesFiveInMemory(b *testing.B) {
	s := benchService(b)
	graphql.Memorize(s.engine)
	req := graphql.Request{Query: `{ users(first: 20) { nodes { id name email avatar posts(limit: 5) { id title excerpt kind createdAt } } } }`}
	b.ReportAllocs()
	for b.Loop() {
		s.engine.Execute(b.Context(), admin, req)
	}
}

func BenchmarkObjectOfSixFieldsInMemory(b *testing.B) {
	s := benchService(b)
	graphql.Memorize(s.engine)
	req := graphql.Request{Query: `{ user(id: "user01") { id name email adminNotes avatar createdAt } }`}
	b.ReportAllocs()
	for b.Loop() {
		s.engine.Execute(b.Context(), admin, req)
	}
}

func BenchmarkEvent(b *testing.B) {
	s := benchService(b)
	op := prepare(b, s.engine, `subscription { userChanged { kind id at user { id name email avatar createdAt } } }`, "")
	ev := userEvent(resource.Updated, `{"id":"ada","name":"Ada","email":"ada@example.org","avatar":"https://example.org/ada.png","createdAt":"2026-01-02T03:04:05Z"}`)
	b.ReportAllocs()
	for b.Loop() {
		s.engine.Event(b.Context(), admin, op, ev)
	}
}

func BenchmarkParseAndPlan(b *testing.B) {
	s := benchService(b)
	queries := make([]graphql.Request, 4096)
	for i := range queries {
		queries[i].Query = fmt.Sprintf(`query Q%d { user(id: "user01") { id name email adminNotes avatar createdAt } }`, i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.engine.Prepare(queries[i%len(queries)])
	}
}

package bench_test

import (
	"encoding/json"
	"testing"

	"tidings/graphql"
)

// question is one case in the words of each side. The selections are the same.
type question struct {
	name      string
	query     string // of generated fields: Tidings reads its view, gqlgen its values
	held      string // of functions: the records are there already
	variables map[string]any
}

const (
	objectFields = `{id name email adminNotes avatar createdAt}`
	listFields   = `{nodes{id name avatar createdAt posts(limit:5){id title kind minutes createdAt}}}`
)

func questions() []question {
	return []question{{
		name:      "object",
		query:     `query($id: ID!){user(id: $id)` + objectFields + `}`,
		held:      `query($id: ID!){user: heldUser(id: $id)` + objectFields + `}`,
		variables: map[string]any{"id": "user-0007"},
	}, {
		name:      "list",
		query:     `query($n: Int){users(first: $n)` + listFields + `}`,
		held:      `query($n: Int){users: heldUsers(first: $n)` + listFields + `}`,
		variables: map[string]any{"n": int64(20)},
	}}
}

// requests returns the question as Tidings is asked it, in both ways.
func (q question) requests(t testing.TB) (stored, held graphql.Request) {
	t.Helper()
	variables, err := json.Marshal(q.variables)
	if err != nil {
		t.Fatal(err)
	}
	return graphql.Request{Query: q.query, Variables: variables}, graphql.Request{Query: q.held, Variables: variables}
}

func TestBothSidesAnswerAlike(t *testing.T) {
	s := newService(t)
	memory, view := inMemory(t, s), onView(s)
	for _, q := range questions() {
		want, err := memory.execute(t.Context(), q.query, q.variables)
		if err != nil {
			t.Fatal(err)
		}
		same := func(side string, got []byte) {
			if string(got) != string(want) {
				t.Errorf("%s, %s answers\n%s, gqlgen from memory\n%s", q.name, side, got, want)
			}
		}
		stored, held := q.requests(t)
		same("tidings", s.engine.Execute(t.Context(), who, stored).Body)
		same("tidings with held records", s.engine.Execute(t.Context(), who, held).Body)
		got, err := view.execute(t.Context(), q.query, q.variables)
		if err != nil {
			t.Fatal(err)
		}
		same("gqlgen on the view", got)
		t.Logf("%s: %d bytes", q.name, len(want))
	}
}

func BenchmarkQuery(b *testing.B) {
	s := newService(b)
	memory, view := inMemory(b, s), onView(s)
	for _, q := range questions() {
		stored, held := q.requests(b)
		b.Run(q.name+"/tidings", func(b *testing.B) { s.benchmarkQuery(b, stored) })
		b.Run(q.name+"/tidings,held", func(b *testing.B) { s.benchmarkQuery(b, held) })
		b.Run(q.name+"/gqlgen", func(b *testing.B) { memory.benchmarkQuery(b, q) })
		b.Run(q.name+"/gqlgen,view", func(b *testing.B) { view.benchmarkQuery(b, q) })
	}
}

func (s *service) benchmarkQuery(b *testing.B, r graphql.Request) {
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if response := s.engine.Execute(b.Context(), who, r); response.Code != "" {
			b.Fatalf("%s", response.Body)
		}
	}
}

func (base *baseline) benchmarkQuery(b *testing.B, q question) {
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if _, err := base.execute(b.Context(), q.query, q.variables); err != nil {
			b.Fatal(err)
		}
	}
}

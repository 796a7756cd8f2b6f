//go:build conformance

package graphqljs_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/fstest"

	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// newMuseum is a rig over the second schema: interfaces, unions, embedded
// objects, lists of lists, custom scalars, @oneOf, errors at every level.
func newMuseum(t *testing.T) *rig {
	t.Helper()
	s := resourcetest.New(t, fstest.MapFS{"museum.graphql": {Data: read(t, "testdata/museum/museum.graphql")}})
	r := &rig{model: s.Model, client: s.Client, records: map[string][]json.RawMessage{}}
	if err := json.Unmarshal(read(t, "testdata/museum/values.json"), &r.values); err != nil {
		t.Fatal(err)
	}
	functions := map[string]graphql.Function{
		"Query.echo": {Resolve: func(_ context.Context, c graphql.Call) (any, error) { return print(c.Args) }},
	}
	for name, value := range r.values {
		functions["Query."+name] = graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return value, nil }}
	}
	var err error
	dear := graphql.Limits{Roots: -1, Cost: graphql.Budgets{Anonymous: -1, User: -1, Service: -1}}
	if r.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: functions, Limits: dear}); err != nil {
		t.Fatal(err)
	}
	start := s.Feed.Now()
	var inputs []json.RawMessage
	if err := json.Unmarshal(read(t, "testdata/museum/exhibits.json"), &inputs); err != nil {
		t.Fatal(err)
	}
	var last resource.Record
	for _, input := range inputs {
		last, err = s.Client.Submit(t.Context(), resource.Command{Type: "Exhibit", Verb: resource.Create, Who: callers["admin"], Input: input})
		if err != nil {
			t.Fatalf("create %s: %v", input, err)
		}
		r.records["Exhibit"] = append(r.records["Exhibit"], last.Raw)
	}
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	r.readCursors(t)
	r.readChanges(t, s.Feed, start)
	return r
}

func TestTheMuseumIsTheSameAsGraphQLJS(t *testing.T) {
	compare(t, newMuseum(t), "testdata/museum/documents.txtar", 100, map[string]string{})
}

func TestRandomDocumentsOfTheMuseumAreTheSame(t *testing.T) {
	compareRandom(t, newMuseum(t), 2000, 3)
}

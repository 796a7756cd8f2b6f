package graphql_test

import (
	"context"
	"iter"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/graphql"
	"tidings/schema"
)

func TestGroupsAreToldLargestFirst(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	const all, one = `subscription All { userChanged { kind } }`, `subscription One($id: ID!) { userChanged(id: $id) { kind user { email } } }`
	for range 3 {
		s.listen(t, auth.Principal{}, all, "", newInbox())
	}
	s.listen(t, auth.Principal{Subject: "u1", Roles: schema.User}, one, `{"id":"u1"}`, newInbox())
	groups := s.engine.Groups(10)
	if len(groups) != 2 {
		t.Fatalf("got %+v", groups)
	}
	if g := groups[0]; g.Members != 3 || g.Field != "userChanged" || g.Operation != "All" || g.Document != all || g.Subject != "" || g.Roles != 0 {
		t.Errorf("the largest is %+v", g)
	}
	if g := groups[1]; g.Members != 1 || g.Variables["id"] != "u1" || g.Subject != "u1" {
		t.Errorf("the other is %+v", g)
	}
	if few := s.engine.Groups(1); len(few) != 1 || few[0].Members != 3 {
		t.Errorf("of one: %+v", few)
	}
}

// An engine of functions alone has neither records nor a log to begin with.
func TestAnEngineWithoutRecordsServesFunctions(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(`
		type Query { now: Int @auth(requires: [ADMIN]) }
		type Mutation { set: Int @auth(requires: [ADMIN]) }
		type Subscription { tick: Int @auth(requires: [ADMIN]) }`)}})
	if err != nil {
		t.Fatal(err)
	}
	one := func(context.Context, graphql.Call) (any, error) { return 1, nil }
	e, err := graphql.New(m, nil, nil, graphql.Options{Functions: map[string]graphql.Function{
		"Query.now": {Resolve: one}, "Mutation.set": {Resolve: one},
		"Subscription.tick": {Subscribe: func(context.Context, graphql.Call) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) { yield(1, nil) }
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	admin := auth.Principal{Subject: "root", Roles: schema.Admin}
	for query, want := range map[string]string{`{ now }`: `{"data":{"now":1}}`, `mutation { set }`: `{"data":{"set":1}}`} {
		if r := e.Execute(t.Context(), admin, graphql.Request{Query: query, WantPosition: query == `{ now }`}); r.Failed {
			t.Errorf("%s: %s, want %s", query, r.Body, want)
		}
	}
	b := newInbox()
	stop, failed := e.Subscribe(t.Context(), admin, graphql.Request{Query: `subscription { tick }`}, "", b)
	if failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	defer stop()
	<-b.moved
	if _, failed := e.Subscribe(t.Context(), auth.Principal{Subject: "ada", Roles: schema.User}, graphql.Request{Query: `subscription { tick }`}, "", newInbox()); failed == nil {
		t.Error("a user may subscribe")
	}
	if got := e.Groups(3); len(got) != 0 {
		t.Errorf("groups of functions: %+v", got)
	}
}

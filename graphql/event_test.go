package graphql_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

func prepare(t testing.TB, e *graphql.Engine, query, vars string) *graphql.Operation {
	t.Helper()
	op, failed := e.Prepare(graphql.Request{Query: query, Variables: json.RawMessage(vars)})
	if failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	return op
}

var moment = time.Date(2026, 1, 2, 3, 4, 5, 500e6, time.UTC)

func userEvent(kind resource.Kind, raw string) resource.Event {
	return resource.Event{Seq: 7, Kind: kind, Type: "User", ID: "ada", Raw: []byte(raw), Time: moment}
}

func TestAnEventIsWrittenWhole(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	op := prepare(t, s.engine, `subscription { c: userChanged { kind id at user { name email posts(limit: 1) { title } } __typename } }`, "")
	payload, skip := s.engine.Event(t.Context(), ben, op, userEvent(resource.Updated, `{"id":"ada","name":"Ada","email":"ada@example.org"}`))
	if skip {
		t.Fatal("skipped")
	}
	cursor := resource.Position{Log: s.Bus.LogID(), Seq: 7}.String()
	want := `{"data":{"c":{"kind":"UPDATED","id":"ada","at":"2026-01-02T03:04:05.5Z","user":{"name":"Ada","email":null,"posts":[{"title":"Post 4"}]},"__typename":"UserChange"}},` +
		`"errors":[{"message":"not allowed to read User.email","locations":[{"line":1,"column":56}],"path":["c","user","email"],"extensions":{"code":"FORBIDDEN"}}],"extensions":{"cursor":"` + cursor + `"}}`
	if string(payload) != want {
		t.Errorf("got  %s\nwant %s", payload, want)
	}
}

func TestADeletedRecordIsNull(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	op := prepare(t, s.engine, `subscription { userChanged { kind cursor user { id posts { id } } } }`, "")
	payload, _ := s.engine.Event(t.Context(), nobody, op, userEvent(resource.Deleted, `{"id":"ada"}`))
	cursor := resource.Position{Log: s.Bus.LogID(), Seq: 7}.String()
	if want := `{"data":{"userChanged":{"kind":"DELETED","cursor":"` + cursor + `","user":null}},"extensions":{"cursor":"` + cursor + `"}}`; string(payload) != want {
		t.Errorf("got  %s\nwant %s", payload, want)
	}
}

func TestAnEventThatMayNotBeReadIsSkipped(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"a.graphql": {Data: []byte(`
		type Note @resource @auth(requires: [OWNER, ADMIN]) { id: ID! by: ID! @owner text: String }`)}})
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	op := prepare(t, e, `subscription { noteChanged { note { text } } }`, "")
	if got := op.Rules(); got != schema.Owner|schema.Admin {
		t.Errorf("rules %b", got)
	}
	ev := resource.Event{Seq: 1, Kind: resource.Created, Type: "Note", ID: "n", Raw: []byte(`{"id":"n","by":"ada","text":"x"}`), Time: moment}
	for who, want := range map[auth.Principal]bool{nobody: true, ben: true, ada: false, admin: false} {
		if _, skip := e.Event(t.Context(), who, op, ev); skip != want {
			t.Errorf("%q: skip %t", who.Subject, skip)
		}
	}
}

func TestRulesAreThoseOnTheWay(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for query, want := range map[string]schema.Roles{
		`subscription { userChanged { kind } }`:                                       schema.Anyone,
		`subscription { userChanged { user { id name posts { author { name } } } } }`: schema.Anyone,
		`subscription { userChanged { user { adminNotes } } }`:                        schema.Anyone | schema.Admin,
		`subscription { postChanged { post { author { followers { email } } } } }`:    schema.Anyone | schema.Admin | schema.Owner,
		`subscription { userChanged { user { adminNotes @skip(if: true) name } } }`:   schema.Anyone,
		`subscription { count }`: 0,
	} {
		if got := prepare(t, s.engine, query, "").Rules(); got != want {
			t.Errorf("%s: %b, want %b", query, got, want)
		}
	}
}

func TestEqualSubscriptionsHaveEqualKeys(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	const query = `subscription($id: ID, $x: Boolean = false) { userChanged(id: $id) { kind @skip(if: $x) id } }`
	key := func(vars string) string { return prepare(t, s.engine, query, vars).Key() }
	if key(`{"id":"a"}`) != key(`{ "x" : false, "id":"a", "unknown": 1}`) {
		t.Error("equal variables, other keys")
	}
	if key(`{"id":"5"}`) != key(`{"id":5}`) {
		t.Error("the same id, other keys")
	}
	if key(`{"id":"a"}`) == key(`{"id":"b"}`) || key(`{"id":null}`) == key(`{}`) || key(`{"x":true}`) == key(`{"x":false}`) {
		t.Error("other variables, equal keys")
	}
	if prepare(t, s.engine, query+" ", "").Key() == key("") {
		t.Error("other documents, equal keys")
	}
}

func TestAFunctionsValueIsChecked(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	op := prepare(t, s.engine, `subscription { n: count(target: 3) }`, "")
	for _, c := range []struct {
		value any
		err   error
		want  string
	}{
		{value: 5, want: `{"data":{"n":5}}`},
		{value: "five", want: `"code":"INTERNAL"`},
		{err: errors.New("secret"), want: `{"data":null,"errors":[{"message":"internal error"`},
	} {
		if got := string(s.engine.Yielded(t.Context(), nobody, op, c.value, c.err)); !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("%v: %s, want %s", c.value, got, c.want)
		}
	}
}

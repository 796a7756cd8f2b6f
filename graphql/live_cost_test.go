package graphql_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource"
	"tidings/schema"
)

func TestEventsTellTheirCostToThoseWhoAsk(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	const query = `subscription { postChanged { post { id author { id followers(limit: 50) { id } } } } }`
	s.create(t, "User", `{"id":"ada","name":"Ada","email":"ada@example.org"}`)
	subscribe := func(who auth.Principal, extensions string) *inbox {
		b := newInbox()
		r := graphql.Request{Query: query, Extensions: json.RawMessage(extensions)}
		stop, failed := s.engine.Subscribe(t.Context(), who, r, "", b)
		if failed != nil {
			t.Fatalf("%s", failed.Body)
		}
		t.Cleanup(stop)
		return b
	}
	silent := []*inbox{subscribe(ada, ""), subscribe(nobody, ""), subscribe(ben, `{"cost":false}`), subscribe(ben, `{"cost":"yes"}`)}
	users := []*inbox{subscribe(ada, `{"cost":true}`), subscribe(ben, `{"cost":true}`)}
	anyone := subscribe(nobody, `{"cost":true}`)
	service := subscribe(auth.Principal{Subject: "crm", Roles: schema.Service}, `{"other":1,"cost":true}`)
	s.post(t, "Fish")

	for _, b := range silent {
		b.awaitCount(t, 1)
		if got := string(b.payloads[0]); strings.Contains(got, "cost") {
			t.Errorf("nobody asked: %s", got)
		}
	}
	for b, most := range map[*inbox]string{users[0]: "10000", users[1]: "10000", anyone: "1000", service: "100000"} {
		b.awaitCount(t, 1)
		// the change, the post and its author; nobody follows her
		want := `"extensions":{"cost":{"actual":3,"estimated":53,"max":` + most + `},"cursor":"` + b.cursor(0) + `"}}`
		if got := string(b.payloads[0]); !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want …%s", got, want)
		}
	}
	if &users[0].payloads[0][0] != &users[1].payloads[0][0] {
		t.Error("equal results were encoded more than once")
	}
	if got := s.engine.Stats().Groups; got != 4 {
		t.Errorf("%d groups, want one without and one for each budget", got)
	}
}

func TestAValueOfAFunctionTellsItsCost(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	b := newInbox()
	r := graphql.Request{Query: `subscription { count(target: 1) }`, WantCost: true}
	if _, failed := s.engine.Subscribe(t.Context(), nobody, r, "", b); failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	b.awaitEnd(t, "")
	if got := string(b.payloads[0]); got != `{"data":{"count":1},"extensions":{"cost":{"actual":0,"estimated":0,"max":1000}}}` {
		t.Error(got)
	}
}

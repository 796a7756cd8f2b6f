package graphql_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/graphql"
	"tidings/resource/resourcetest"
)

// The answer to many is too large to be kept: what was carried out is read from
// the log when they are sent again, and what was refused stays so.
func TestWhatWasRefusedOfManyStaysSoWhenTheirAnswerIsLarge(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(`type Item @resource @auth(requires: [USER]) { id: ID! name: String! @unique note: String }`)}})
	engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Answers: answers(t, s.Bus), Timeout: 2 * time.Minute}) // what is not known in time is not kept
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	const create = `mutation($input: CreateItemInput!) { result: createItem(input: $input) { id name note } }`
	held := engine.Execute(t.Context(), ada, graphql.Request{Query: create, Variables: []byte(`{"input":{"name":"n7"}}`)})
	_, id, _ := strings.Cut(string(held.Body), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	m := graphql.Many{Request: graphql.Request{Query: create, IdempotencyKey: "k"}}
	for i := range 150 {
		m.Variables = append(m.Variables, fmt.Appendf(nil, `{"input":{"name":"n%d","note":%q}}`, i, strings.Repeat("x", 3000)))
	}
	first := engine.ExecuteMany(t.Context(), ada, m)
	if first.Refused != nil || !strings.Contains(string(first.Items[7]), "CONFLICT") || !strings.Contains(string(first.Items[8]), `"name":"n8"`) {
		t.Fatal(bodies(first)[:1000])
	}
	freed := engine.Execute(t.Context(), ada, graphql.Request{Query: `mutation { deleteItem(input: {id: "` + id + `"}) { id } }`})
	if freed.Code != "" {
		t.Fatal(string(freed.Body))
	}
	again := engine.ExecuteMany(t.Context(), ada, m)
	if !again.Replayed {
		t.Error("it is not said that they came before")
	}
	for i := range first.Items {
		if string(again.Items[i]) != string(first.Items[i]) {
			t.Fatalf("item %d was %.300s and is %.300s", i, first.Items[i], again.Items[i])
		}
	}
	m.Variables[7] = []byte(`{"input":{"name":"other"}}`)
	if other := engine.ExecuteMany(t.Context(), ada, m); other.Refused == nil {
		t.Error("the key was taken for another request")
	}
}

package graphql_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource/resourcetest"
)

const letterbox = `
type Letter @resource
  @auth(requires: [ADMIN], on: [READ])
  @auth(requires: [ANYONE], on: [CREATE])
  @auth(requires: [USER], on: [UPDATE, DELETE]) {
  id: ID!
  text: String!
}
`

func TestAChangeThatMayNotBeReadIsMadeAndSaidToBe(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(letterbox)}})
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(who auth.Principal, query string) (graphql.Response, result) {
		r := e.Execute(t.Context(), who, graphql.Request{Query: query})
		return r, decode(t, string(r.Body))
	}
	id := ""
	for _, c := range []struct {
		who   auth.Principal
		query string
		want  string
	}{
		{nobody, `mutation { createLetter(input: {text: "hello"}) { id text } }`, "the Letter was created, but you may not read it"},
		{ada, `mutation { updateLetter(input: {id: "ID", text: "changed"}) { id } }`, "the Letter was changed, but you may not read it"},
		{ada, `mutation { deleteLetter(input: {id: "ID"}) { id } }`, "the Letter was deleted, but you may not read it"},
	} {
		resp, got := run(c.who, strings.ReplaceAll(c.query, "ID", id))
		if len(got.Errors) != 1 || got.Errors[0].Message != c.want || resp.Code != fault.Forbidden || resp.Failed || resp.Position == "" {
			t.Fatalf("%s: %+v %s", c.query, resp, resp.Body)
		}
		if !strings.Contains(string(resp.Body), `"position":"`+resp.Position+`"`) {
			t.Errorf("the error does not say where the change was made: %s", resp.Body)
		}
		read := e.Execute(t.Context(), admin, graphql.Request{Query: `{ letters { nodes { id text } } }`, Position: resp.Position})
		var list struct {
			Data struct {
				Letters struct{ Nodes []struct{ ID, Text string } }
			}
		}
		if err := json.Unmarshal(read.Body, &list); err != nil {
			t.Fatal(err)
		}
		switch nodes := list.Data.Letters.Nodes; {
		case strings.Contains(c.want, "deleted") && len(nodes) == 0:
		case len(nodes) == 1 && (id == "" || nodes[0].Text == "changed"):
			id = nodes[0].ID
		default:
			t.Errorf("after %s: %s", c.query, read.Body)
		}
	}
	resp, got := run(nobody, `mutation { updateLetter(input: {id: "x", text: "t"}) { id } }`)
	if len(got.Errors) != 1 || strings.Contains(string(resp.Body), "position") || resp.Position != "" {
		t.Errorf("what is refused looks as if it was made: %s", resp.Body)
	}
}

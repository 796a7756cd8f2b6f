package graphql_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// A short document that reaches the same records again and again asks for an
// answer of any size. It gets none, and says so.
func TestAnAnswerWithoutEndIsBrokenOff(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	who := auth.Principal{Subject: "alice", Roles: schema.User}
	create := func(typ, input string) {
		t.Helper()
		if _, err := s.Client.Submit(t.Context(), resource.Command{Type: typ, Verb: resource.Create, Who: who, Input: json.RawMessage(input)}); err != nil {
			t.Fatal(err)
		}
	}
	create("User", `{"name":"Alice","email":"alice@example.com"}`)
	for i := range 50 {
		create("Post", fmt.Sprintf(`{"title":"post %d"}`, i))
	}
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{MaxAnswer: 1 << 20, Limits: graphql.Limits{Measure: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	const deep = `{ user(id: "alice") { name posts(limit: 50) { author { posts(limit: 50) { author { posts(limit: 50) { title } } } } } } }`
	r := e.Execute(t.Context(), auth.Principal{}, graphql.Request{Query: deep})
	if r.Code != fault.PayloadTooLarge || len(r.Body) > 500 || !strings.HasPrefix(string(r.Body), `{"data":null,"errors":[`) {
		t.Errorf("%s: %d bytes: %.200s", r.Code, len(r.Body), r.Body)
	}
	const wide = `{ user(id: "alice") { posts(limit: 50) { author { posts(limit: 50) { title } } } } }`
	if r := e.Execute(t.Context(), auth.Principal{}, graphql.Request{Query: wide}); r.Code != "" {
		t.Errorf("an answer of a good size: %.200s", r.Body)
	}
}

// The key that a relation follows may be the owner itself.
func TestTheOwnerFollowsARelationByTheOwnersKey(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"schema.graphql": {Data: []byte(`
type Person @resource @auth(requires: [ANYONE], on: [READ]) @auth(requires: [USER], on: [CREATE]) {
  id: ID! @owner
  memos(limit: Int = 20): [Memo!] @hasMany(field: "authorId") @auth(requires: [OWNER])
}
type Memo @resource @auth(requires: [ANYONE], on: [READ]) @auth(requires: [USER], on: [CREATE]) {
  id: ID!
  authorId: ID! @owner
  author: Person @belongsTo(field: "authorId") @auth(requires: [OWNER])
  text: String
}`)}})
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	alice, bob := auth.Principal{Subject: "alice", Roles: schema.User}, auth.Principal{Subject: "bob", Roles: schema.User}
	for _, doc := range []string{`mutation { createPerson(input: {}) { id } }`, `mutation { createMemo(input: {text: "x"}) { id } }`} {
		if r := e.Execute(t.Context(), alice, graphql.Request{Query: doc}); r.Code != "" {
			t.Fatal(string(r.Body))
		}
	}
	const query = `{ person(id: "alice") { memos { text author { id } } } memos { nodes { author { id } } } }`
	if r := e.Execute(t.Context(), alice, graphql.Request{Query: query}); string(r.Body) != `{"data":{"person":{"memos":[{"text":"x","author":{"id":"alice"}}]},"memos":{"nodes":[{"author":{"id":"alice"}}]}}}` {
		t.Errorf("the owner gets %s", r.Body)
	}
	if r := e.Execute(t.Context(), bob, graphql.Request{Query: query}); !strings.HasPrefix(string(r.Body), `{"data":{"person":{"memos":null},"memos":{"nodes":[{"author":null}]}}`) || r.Code != fault.Forbidden {
		t.Errorf("somebody else gets %s", r.Body)
	}
}

package graphql_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
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

var (
	nobody = auth.Principal{}
	ada    = auth.Principal{Subject: "ada", Roles: schema.User}
	ben    = auth.Principal{Subject: "ben", Roles: schema.User}
	admin  = auth.Principal{Subject: "root", Roles: schema.Admin}
)

const byHand = `
type Query {
  greeting(name: String! = "you", loud: Boolean): String!
  stats: Stats
  favourites(limit: Int! = 1): [User]
  explode: Int
  fractions: [Int]
  guarded: Int @auth(requires: [ADMIN])
  picky(n: Int!, kinds: [PostKind!]): Int
}
type Stats { n: Int! ratio: Float words: [String!] best: Stat rows: [Stat!]! odd: PostKind must: [Int!]! }
type Stat { label: String! deep: Stat }
`

// socialDir is the example's schema with root fields of its own.
func socialDir(t testing.TB) fstest.MapFS {
	t.Helper()
	text, err := os.ReadFile("../examples/social/schema.graphql")
	if err != nil {
		t.Fatal(err)
	}
	hand := byHand
	if !strings.Contains(string(text), "count(") {
		hand += "type Subscription { count(target: Int = 10): Int! }"
	}
	return fstest.MapFS{"schema.graphql": {Data: text}, "byhand.graphql": {Data: []byte(hand)}}
}

// service is an engine over a running service with three users, four posts and
// two followers of ada.
type service struct {
	*resourcetest.Service
	engine *graphql.Engine
	posts  []string // ids, oldest first
}

func newService(t testing.TB, o graphql.Options) *service {
	t.Helper()
	s := &service{Service: resourcetest.New(t, socialDir(t))}
	if o.Functions == nil {
		o.Functions = functions()
	}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, o); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ada", "ben", "cleo"} {
		s.create(t, "User", fmt.Sprintf(`{"id":%q,"name":"%s!","email":"%s@example.org"}`, id, id, id))
	}
	for i, author := range []string{"ada", "ben", "ada", "ada"} {
		raw := s.create(t, "Post", fmt.Sprintf(`{"authorId":%q,"title":"Post %d","tags":["a","b"]}`, author, i+1))
		s.posts = append(s.posts, idOf(t, raw))
	}
	s.create(t, "Follow", `{"followerId":"ben","followeeId":"ada"}`)
	last := s.submit(t, "Follow", `{"followerId":"cleo","followeeId":"ada"}`)
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	return s
}

func idOf(t testing.TB, raw []byte) string {
	t.Helper()
	var record struct{ ID string }
	if err := json.Unmarshal(raw, &record); err != nil {
		t.Fatal(err)
	}
	return record.ID
}

func (s *service) create(t testing.TB, typ, input string) []byte { return s.submit(t, typ, input).Raw }

func (s *service) submit(t testing.TB, typ, input string) resource.Record {
	t.Helper()
	r, err := s.Client.Submit(t.Context(), resource.Command{Type: typ, Verb: resource.Create, Who: admin, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *service) run(t testing.TB, who auth.Principal, query, vars string) string {
	t.Helper()
	r := s.engine.Execute(t.Context(), who, graphql.Request{Query: query, Variables: json.RawMessage(vars)})
	if !json.Valid(r.Body) {
		t.Fatalf("the body is not JSON: %s", r.Body)
	}
	return string(r.Body)
}

// result is a response, as far as tests look into it.
type result struct {
	Data   any
	Errors []struct {
		Message    string
		Path       []any
		Locations  []struct{ Line, Column int }
		Extensions struct {
			Code  fault.Code
			Field string
		}
	}
}

func decode(t testing.TB, body string) (r result) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return r
}

// wantData compares the data of a response and the codes of its errors.
func wantData(t testing.TB, body, data string, codes ...fault.Code) {
	t.Helper()
	r := decode(t, body)
	var want any
	if err := json.Unmarshal([]byte(data), &want); err != nil {
		t.Fatal(err)
	}
	var got []fault.Code
	for _, e := range r.Errors {
		got = append(got, e.Extensions.Code)
	}
	if !reflect.DeepEqual(r.Data, want) || !reflect.DeepEqual(got, codes) {
		t.Errorf("got  %s\nwant %s with the codes %v", body, data, codes)
	}
}

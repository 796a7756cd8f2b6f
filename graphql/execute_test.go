package graphql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
)

func functions() map[string]graphql.Function {
	value := func(v any) graphql.Function {
		return graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return v, nil }}
	}
	return map[string]graphql.Function{
		"Query.greeting": {Resolve: func(_ context.Context, c graphql.Call) (any, error) {
			if c.Args["name"] == "fail" {
				return nil, errors.New("secret detail")
			}
			return "hello " + c.Args["name"].(string), nil
		}},
		"Query.stats": value(json.RawMessage(`{"n":3,"ratio":0.5,"words":["x",null],"best":{"label":"a","deep":{"label":"b"}},
			"rows":[{"label":"r1"},{"label":null}],"odd":"NOTHING","must":[1,2.5]}`)),
		"Query.favourites": value(json.RawMessage(`[{"id":"ada","name":"Ada","email":"ada@example.org"},null]`)),
		"Query.guarded":    value(1),
		"Query.fractions":  value(json.RawMessage("[" + strings.Repeat("0.5,", 1499) + "1]")),
		"Query.explode":    {Resolve: func(context.Context, graphql.Call) (any, error) { panic("boom") }},
		"Query.picky": {Resolve: func(_ context.Context, c graphql.Call) (any, error) {
			return c.Args["n"], nil
		}},
		"Subscription.count": {Subscribe: func(_ context.Context, c graphql.Call) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				for i := int64(1); i <= c.Args["target"].(int64) && yield(i, nil); i++ {
				}
			}
		}},
	}
}

func TestAQueryGivesWhatItNames(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	p := s.posts
	for _, c := range []struct {
		name  string
		who   auth.Principal
		query string
		vars  string
		data  string
		codes []fault.Code
	}{
		{name: "one record", query: `{user(id:"ada"){id name avatar __typename}}`,
			data: `{"user":{"id":"ada","name":"ada!","avatar":null,"__typename":"User"}}`},
		{name: "none", query: `{user(id:"zoe"){id}}`, data: `{"user":null}`, codes: []fault.Code{fault.NotFound}},
		{name: "aliases and fragments", query: `query Q($id: ID!) { x: user(id: $id) { ...F n: name ... on User { id } ... { id } } __typename } fragment F on User { id name }`,
			vars: `{"id":"ben"}`, data: `{"x":{"id":"ben","name":"ben!","n":"ben!"},"__typename":"Query"}`},
		{name: "conditions", query: `query($y: Boolean!, $n: Boolean = false) { user(id:"ben") { id @skip(if: $y) name @include(if: $y) a: id @include(if: $n) ...F @skip(if: $n) } } fragment F on User { b: id }`,
			vars: `{"y":true}`, data: `{"user":{"name":"ben!","b":"ben"}}`},
		{name: "the other conditions", query: `query($y: Boolean!, $n: Boolean = false) { user(id:"ben") { id @skip(if: $y) name @include(if: $y) a: id @include(if: $n) ...F @skip(if: $n) } } fragment F on User { b: id }`,
			vars: `{"y":false,"n":true}`, data: `{"user":{"id":"ben","a":"ben"}}`},
		{name: "relations", query: `{user(id:"ada"){posts(limit:2){title author{id posts(limit:1){id}}} followers{id}}}`,
			data: `{"user":{"posts":[{"title":"Post 4","author":{"id":"ada","posts":[{"id":"` + p[3] + `"}]}},{"title":"Post 3","author":{"id":"ada","posts":[{"id":"` + p[3] + `"}]}}],"followers":[{"id":"cleo"},{"id":"ben"}]}}`},
		{name: "merged selections", query: `{user(id:"ada"){posts(limit:1){id} posts(limit:1){title}}}`,
			data: `{"user":{"posts":[{"id":"` + p[3] + `","title":"Post 4"}]}}`},
		{name: "too large a limit", query: `{user(id:"ada"){id posts(limit:101){id}}}`, data: `{"user":null}`, codes: []fault.Code{fault.BadUserInput}},
		{name: "a connection", query: `{users(first:2){totalCount nodes{id} edges{node{name}} pageInfo{hasNextPage hasPreviousPage __typename} __typename}}`,
			data: `{"users":{"totalCount":3,"nodes":[{"id":"ada"},{"id":"ben"}],"edges":[{"node":{"name":"ada!"}},{"node":{"name":"ben!"}}],"pageInfo":{"hasNextPage":true,"hasPreviousPage":false,"__typename":"PageInfo"},"__typename":"UserConnection"}}`},
		{name: "too long a text", query: `query($t: ID!){user(id:$t){id}}`, vars: `{"t":"` + strings.Repeat("x", 70_000) + `"}`, data: `{"user":null}`, codes: []fault.Code{fault.BadUserInput}},
		{name: "too long a list", query: `query($t: [ID!]){users(filter:{id:{in:$t}}){nodes{id}}}`, vars: `{"t":[` + strings.Repeat(`"x",`, 1000) + `"y"]}`, data: `{"users":null}`, codes: []fault.Code{fault.BadUserInput}},
		{name: "only a count", query: `{users{totalCount}}`, data: `{"users":{"totalCount":3}}`},
		{name: "an empty page", query: `{users(filter:{name:{eq:"none"}}){nodes{id} pageInfo{startCursor endCursor}}}`,
			data: `{"users":{"nodes":[],"pageInfo":{"startCursor":null,"endCursor":null}}}`},
		{name: "filters", query: `query($f: UserFilter){users(filter:$f, orderBy:[{field:name,direction:DESC}]){nodes{id}}}`,
			vars: `{"f":{"or":[{"name":{"beginsWith":"a"}},{"and":[{"id":{"in":["cleo"]}},{"not":{"id":{"eq":"ben"}}}]}]}}`,
			data: `{"users":{"nodes":[{"id":"cleo"},{"id":"ada"}]}}`},
		{name: "a bad page size", query: `{users(first:0){nodes{id}}}`, data: `{"users":null}`, codes: []fault.Code{fault.BadUserInput}},
		{name: "a bad cursor", query: `{users(after:"???"){nodes{id}}}`, data: `{"users":null}`, codes: []fault.Code{fault.BadUserInput}},

		{name: "nobody reads the private", query: `{user(id:"ada"){id email adminNotes}}`, data: `{"user":{"id":"ada","email":null,"adminNotes":null}}`,
			codes: []fault.Code{fault.Forbidden, fault.Forbidden}},
		{name: "the owner reads the own", who: ada, query: `{user(id:"ada"){email adminNotes} x: user(id:"ben"){email}}`,
			data: `{"user":{"email":"ada@example.org","adminNotes":null},"x":{"email":null}}`, codes: []fault.Code{fault.Forbidden, fault.Forbidden}},
		{name: "an administrator reads all", who: admin, query: `{user(id:"ada"){email adminNotes}}`, data: `{"user":{"email":"ada@example.org","adminNotes":null}}`},

		{name: "a function", query: `query{greeting a: greeting(name:"Ada")}`, data: `{"greeting":"hello you","a":"hello Ada"}`},
		{name: "a function's variable without a value", query: `query($n: String = "v"){greeting(name:$n)}`, data: `{"greeting":"hello v"}`},
		{name: "a function's variable that is null", query: `query($n: String = "v"){greeting(name:$n)}`, vars: `{"n":null}`, data: `null`, codes: []fault.Code{fault.BadUserInput}},
		{name: "a function's foreign error", query: `{greeting(name:"fail")}`, data: `null`, codes: []fault.Code{fault.Internal}},
		{name: "a function that panics", query: `{explode __typename}`, data: `{"explode":null,"__typename":"Query"}`, codes: []fault.Code{fault.Internal}},
		{name: "a function with a rule", query: `{guarded}`, who: ada, data: `{"guarded":null}`, codes: []fault.Code{fault.Forbidden}},
		{name: "a function with a rule that allows", query: `{guarded}`, who: admin, data: `{"guarded":1}`},
		{name: "a function's objects", query: `{stats{n ratio best{label deep{label deep{label}}} __typename}}`,
			data: `{"stats":{"n":3,"ratio":0.5,"best":{"label":"a","deep":{"label":"b","deep":null}},"__typename":"Stats"}}`},
		{name: "null in a list of the strict", query: `{stats{n words}}`, data: `{"stats":{"n":3,"words":null}}`, codes: []fault.Code{fault.Internal}},
		{name: "null propagates", query: `{stats{n rows{label}}}`, data: `{"stats":null}`, codes: []fault.Code{fault.Internal}},
		{name: "a value that is none of the enum", query: `{stats{odd}}`, data: `{"stats":{"odd":null}}`, codes: []fault.Code{fault.Internal}},
		{name: "a fraction in a list of Int", query: `{stats{must}}`, data: `{"stats":null}`, codes: []fault.Code{fault.Internal}},
		{name: "a function's records", query: `{favourites{id email posts(limit:1){title}}}`,
			data: `{"favourites":[{"id":"ada","email":null,"posts":[{"title":"Post 4"}]},null]}`, codes: []fault.Code{fault.Forbidden}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantData(t, s.run(t, c.who, c.query, c.vars), c.data, c.codes...)
		})
	}
}

func TestErrorsTellWhere(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	body := s.run(t, ben, "{ users { nodes { id\n e: email\n email e: email } } }", "")
	r := decode(t, body)
	if len(r.Errors) != 4 {
		t.Fatalf("got %s", body)
	}
	e := r.Errors[0]
	if got, _ := json.Marshal(e.Path); string(got) != `["users","nodes",0,"e"]` {
		t.Errorf("path %s", got)
	}
	if len(e.Locations) != 2 || e.Locations[0].Line != 2 || e.Locations[1].Line != 3 {
		t.Errorf("locations %v", e.Locations)
	}
	if got, _ := json.Marshal(r.Errors[3].Path); string(got) != `["users","nodes",2,"email"]` {
		t.Errorf("path %s", got)
	}
}

func TestAMutationSeesItsOwnWrite(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for i := range 20 {
		title := "Own " + strconv.Itoa(i)
		body := s.run(t, ada, `mutation($t: String!){createPost(input:{title:$t}){title kind tags author{posts(limit:1){title}}}}`, `{"t":"`+title+`"}`)
		wantData(t, body, `{"createPost":{"title":"`+title+`","kind":"ARTICLE","tags":[],"author":{"posts":[{"title":"`+title+`"}]}}}`)
	}
}

func TestMutationsRunInOrder(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	body := s.run(t, admin, `mutation {
		a: createUser(input:{id:"dan", name:"Dan", email:"dan@example.org"}){id createdAt @skip(if:true)}
		b: createUser(input:{id:"dora", name:"Dora", email:"dan@example.org"}){id}
		c: updateUser(input:{id:"dan", name:"Daniel"}){name avatar}
		d: deleteUser(input:{id:"dan"}){name}
		e: deleteUser(input:{id:"dan"}){name}
	}`, "")
	wantData(t, body, `{"a":{"id":"dan"},"b":null,"c":{"name":"Daniel","avatar":null},"d":{"name":"Daniel"},"e":null}`, fault.Conflict, fault.NotFound)
}

func TestAnEngineNeedsAllItsFunctions(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	few := functions()
	delete(few, "Query.greeting")
	few["Query.surplus"] = few["Query.stats"]
	few["Subscription.count"] = few["Query.stats"]
	_, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: few})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"Query.greeting: let a service answer it", "Query.surplus", "Subscription.count must have Subscribe"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestManyCallersShareAnEngine(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Documents: 4})
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			for i := range 50 {
				skip := (caller+i)%2 == 0
				body := s.run(t, ada, fmt.Sprintf(`query Q%d($skip: Boolean!) { user(id: "ada") { id name @skip(if: $skip) posts(limit: 1) { title } } }`, i%8), fmt.Sprintf(`{"skip":%t}`, skip))
				want := `{"data":{"user":{"id":"ada","name":"ada!","posts":[{"title":"Post 4"}]}}}`
				if skip {
					want = strings.Replace(want, `"name":"ada!",`, "", 1)
				}
				if body != want {
					t.Errorf("got %s, want %s", body, want)
				}
			}
		})
	}
	wg.Wait()
}

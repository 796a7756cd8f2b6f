package graphql_test

import (
	"context"
	"testing"
	"testing/fstest"

	"tidings/fault"
	"tidings/graphql"
	"tidings/resource/resourcetest"
)

const oddities = `
type Query {
  odd(
    text: String! = "a \"b\" \\ \u00e9", list: [Int!] = [1, 2], kind: Kind = B, object: In = {n: 1, s: null}
    flag: Boolean = true, number: Float = 1.5e3, gone: Int @deprecated, one: One
  ): Odd
}
"""The odd one."""
type Odd { list: [[Int!]]! when: DateTime old: Int @deprecated older: Int @deprecated(reason: "why \"not\"") }
enum Kind { A B @deprecated(reason: "C") }
input In { n: Int! = 3, s: String, gone: Int @deprecated }
input One @oneOf { a: Int, b: String }
type Thing @resource @auth(requires: [ANYONE]) {
  id: ID!
  by: ID! @owner
  parts(limit: Int = 20): [Part!]! @hasMany(field: "thingId") @auth(requires: [OWNER, ADMIN])
}
type Part @resource @auth(requires: [ANYONE]) { id: ID! thingId: ID! @index }
`

func newOddities(t *testing.T) *service {
	t.Helper()
	s := &service{Service: resourcetest.New(t, fstest.MapFS{"a.graphql": {Data: []byte(oddities)}})}
	var err error
	s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: map[string]graphql.Function{
		"Query.odd": {Resolve: func(_ context.Context, c graphql.Call) (any, error) { return nil, nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheSchemaIsTold(t *testing.T) {
	t.Parallel()
	s := newOddities(t)
	for name, c := range map[string]struct{ query, data string }{
		"roots": {`{ __schema { queryType { name } mutationType { name } subscriptionType { name } description } }`,
			`{"__schema":{"queryType":{"name":"Query"},"mutationType":{"name":"Mutation"},"subscriptionType":{"name":"Subscription"},"description":null}}`},
		"wrappers": {`{ __type(name: "Odd") { kind description fields { name type { kind name ofType { kind ofType { kind ofType { kind ofType { kind name ofType { kind } } } } } } } } }`,
			`{"__type":{"kind":"OBJECT","description":"The odd one.","fields":[
				{"name":"list","type":{"kind":"NON_NULL","name":null,"ofType":{"kind":"LIST","ofType":{"kind":"LIST","ofType":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","name":"Int","ofType":null}}}}}},
				{"name":"when","type":{"kind":"SCALAR","name":"DateTime","ofType":null}}]}}`},
		"null where the kind has none": {`{ __type(name: "Odd") { interfaces { name } possibleTypes { name } enumValues { name } inputFields { name } ofType { name } isOneOf specifiedByURL } }`,
			`{"__type":{"interfaces":[],"possibleTypes":null,"enumValues":null,"inputFields":null,"ofType":null,"isOneOf":null,"specifiedByURL":null}}`},
		"deprecation": {`{ __type(name: "Odd") { fields(includeDeprecated: true) { name isDeprecated deprecationReason } } k: __type(name: "Kind") { enumValues { name } all: enumValues(includeDeprecated: true) { name deprecationReason } } }`,
			`{"__type":{"fields":[{"name":"list","isDeprecated":false,"deprecationReason":null},{"name":"when","isDeprecated":false,"deprecationReason":null},
				{"name":"old","isDeprecated":true,"deprecationReason":"No longer supported"},{"name":"older","isDeprecated":true,"deprecationReason":"why \"not\""}]},
				"k":{"enumValues":[{"name":"A"}],"all":[{"name":"A","deprecationReason":null},{"name":"B","deprecationReason":"C"}]}}`},
		"inputs": {`{ a: __type(name: "In") { isOneOf fields { name } inputFields { name defaultValue } } b: __type(name: "One") { isOneOf } }`,
			`{"a":{"isOneOf":false,"fields":null,"inputFields":[{"name":"n","defaultValue":"3"},{"name":"s","defaultValue":null}]},"b":{"isOneOf":true}}`},
		"directives": {`{ __schema { directives { name } } __type(name: "__Directive") { fields { name args { name defaultValue } } } }`,
			`{"__schema":{"directives":[{"name":"auth"},{"name":"deprecated"},{"name":"include"},{"name":"oneOf"},{"name":"skip"},{"name":"specifiedBy"},{"name":"transaction"}]},
				"__type":{"fields":[{"name":"name","args":[]},{"name":"description","args":[]},{"name":"isRepeatable","args":[]},{"name":"locations","args":[]},{"name":"args","args":[{"name":"includeDeprecated","defaultValue":"false"}]}]}}`},
		"nobody": {`{ __type(name: "Nobody") { name } }`, `{"__type":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantData(t, s.run(t, nobody, c.query, ""), c.data)
		})
	}
}

func TestDefaultsAreToldAsLiterals(t *testing.T) {
	t.Parallel()
	s := newOddities(t)
	r := decode(t, s.run(t, nobody, `{ __type(name: "Query") { fields { name args(includeDeprecated: true) { name defaultValue } } } }`, ""))
	for _, f := range r.Data.(map[string]any)["__type"].(map[string]any)["fields"].([]any) {
		if f := f.(map[string]any); f["name"] == "odd" {
			got := map[string]any{}
			for _, a := range f["args"].([]any) {
				got[a.(map[string]any)["name"].(string)] = a.(map[string]any)["defaultValue"]
			}
			for name, want := range map[string]any{
				"text": `"a \"b\" \\ é"`, "list": `[1, 2]`, "kind": `B`, "object": `{ n: 1, s: null }`,
				"flag": `true`, "number": `1.5e3`, "gone": nil, "one": nil,
			} {
				if got[name] != want {
					t.Errorf("%s: %v, want %v", name, got[name], want)
				}
			}
		}
	}
}

func TestARelationHasItsOwnRule(t *testing.T) {
	t.Parallel()
	s := newOddities(t)
	id := map[string]string{}
	for _, owner := range []string{"ada", "ben"} {
		raw := s.create(t, "Thing", `{"by":"`+owner+`"}`)
		id[owner] = idOf(t, raw)
	}
	last := s.submit(t, "Part", `{"thingId":"`+id["ada"]+`"}`)
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	reads := graphql.CountReads(s.engine)
	wantData(t, s.run(t, ada, `{ things { nodes { by parts { __typename } } } }`, ""),
		`{"things":{"nodes":[{"by":"ada","parts":[{"__typename":"Part"}]},{"by":"ben","parts":null}]}}`, fault.Forbidden)
	wantData(t, s.run(t, nobody, `{ things { nodes { parts { __typename } } } }`, ""),
		`{"things":{"nodes":[{"parts":null},{"parts":null}]}}`, fault.Forbidden, fault.Forbidden)
	if n := reads.Related.Load(); n != 1 {
		t.Errorf("%d reads, want the one that was allowed", n)
	}
}

func TestExactlyOneOfAOneOf(t *testing.T) {
	t.Parallel()
	s := newOddities(t)
	for value, code := range map[string]fault.Code{`{"a":1}`: "", `{"a":1,"b":"x"}`: fault.BadUserInput, `{}`: fault.BadUserInput, `{"a":null}`: fault.BadUserInput, `null`: ""} {
		r := decode(t, s.run(t, nobody, `query($o: One) { odd(one: $o) { when } }`, `{"o":`+value+`}`))
		if (code == "") != (len(r.Errors) == 0) || code != "" && r.Errors[0].Extensions.Code != code {
			t.Errorf("%s: %v", value, r.Errors)
		}
	}
}

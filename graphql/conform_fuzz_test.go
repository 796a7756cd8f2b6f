package graphql_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	foreign "tidings/service"
)

const conformSDL = `
type Query { all: All @busRequest(subject: "x.all") }
type All {
  s: String i: Int f: Float b: Boolean! id: ID at: DateTime day: Date url: URL mail: EmailAddress uuid: UUID pos: PositiveInt any: JSON own: Own
  e: E es: [E!] grid: [[Int!]]! one: Leaf! many: [Leaf] must: [Leaf!] either: Either eithers: [[Either!]!] face: Face robot: Robot
}
scalar Own
enum E { A B }
type Leaf implements Face { n: Int! }
type Other implements Face { n: Int! label: String }
interface Face { n: Int! }
union Either = Leaf | Other
type Robot @resource @auth(requires: [ANYONE]) { id: ID! name: String! kind: E spare: Spare again: ID other: Robot @belongsTo(field: "again") }
type Spare { n: Int! }
`

// FuzzConform: whatever a service says, the result is JSON; and what was found
// fit is written without an error, and what was not with one.
func FuzzConform(f *testing.F) {
	for _, seed := range []string{
		`{"b":true,"grid":[[1,2],null,[]],"one":{"n":1}}`,
		`{"s":"x","i":1,"f":1.5,"b":false,"id":7,"at":"2026-11-20T07:25:22.500+01:00","day":"2026-11-20","url":"https://example.org","mail":"a@example.org","uuid":"0193A2C0-7d5e-7c3a-9f10-2b8f6d1e4a55","pos":1,"any":{"a":[1]},"own":0,"e":"A","es":["B"],"grid":[],"one":{"n":1},"many":[{"n":1},null],"must":[],"either":{"__typename":"Leaf","n":1},"eithers":[[{"__typename":"Other","n":2,"label":null}]],"face":{"n":1,"__typename":"Other"},"robot":{"id":"r","name":"x","kind":"B","spare":{"n":1},"again":null}}`,
		`{"b":1,"grid":[[null]],"one":null}`, `{"b":true,"grid":{},"one":[],"many":[1],"must":[null],"either":{"__typename":"Robot"},"face":{}}`,
		`{"\u0062":true,"grid":[],"one":{"n":1.0},"b":false}`, `{"b":true,"b":"twice","grid":[],"one":{"n":1}}`,
		`{"b":true,"grid":[],"one":{"n":1e400},"f":1e400,"i":2147483648,"s":5,"e":"C","es":"A","uuid":"","at":"2026-02-30T00:00:00Z"}`,
		`null`, `[]`, `"x"`, `false`, ``, ` `, `{`, "\xff", `{"s":"\ud800"}`, "{\"s\":\"\xc3\"}", `{"any":{"n":1e999999}}`, `{"own":"\u2028"}`,
	} {
		f.Add([]byte(seed))
	}
	s := resourcetest.Reader(f, bustest.New(f), fstest.MapFS{"schema.graphql": {Data: []byte(conformSDL)}}, resource.FeedOptions{})
	services, err := foreign.New(s.Bus, s.Model)
	if err != nil {
		f.Fatal(err)
	}
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Services: services})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(e.Close)
	op, failed := e.Prepare(graphql.Request{Query: `{ all {
		s i f b id at day url mail uuid pos any own e es grid one { n } many { n __typename } must { __typename n }
		either { ...E } eithers { ...E } face { n ... on Other { label } } robot { id name kind spare { n } again }
	} } fragment E on Either { __typename ... on Leaf { n } ... on Other { n label } }`})
	if failed != nil {
		f.Fatalf("%s", failed.Body)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, wrong := e.Conform(raw, "Query", "all")
		if value == nil {
			if wrong == "" {
				t.Fatalf("%q is nothing, and nothing is wrong", raw)
			}
			return
		}
		if !json.Valid(value) {
			t.Fatalf("%q became %q", raw, value)
		}
		body := e.Yielded(t.Context(), nobody, op, value, nil)
		var r struct {
			Data   map[string]any
			Errors []any
		}
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatalf("%q: %v in %q", raw, err, body)
		}
		if (wrong == "") != (len(r.Errors) == 0) {
			t.Fatalf("%q became %s, of which is wrong %q, and was written as %s", raw, value, wrong, body)
		}
	})
}

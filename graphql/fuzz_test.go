package graphql_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tidings/graphql"
	"tidings/schema"
)

// FuzzRequest takes bodies through everything that comes before execution.
func FuzzRequest(f *testing.F) {
	m, err := schema.Load(socialDir(f))
	if err != nil {
		f.Fatal(err)
	}
	e, err := graphql.New(m, nil, nil, graphql.Options{Functions: functions()})
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range bombs() {
		if body, err := json.Marshal(graphql.Request{Query: b.query}); err == nil && len(body) < 4096 {
			f.Add(body)
		}
	}
	for _, query := range []string{
		`query($f: UserFilter = {name: {in: "a"}}, $y: Boolean!) { users(filter: $f, orderBy: {field: name}) { nodes { ...F @skip(if: $y) } } } fragment F on User { id posts { id } }`,
		`mutation($i: CreatePostInput!) { createPost(input: $i) { id author { name } } }`,
		`subscription { userChanged(id: "x") { kind user { name } } }`,
		`{ __schema { types { ...T } } __type(name: "\uD83D\uDE00\u{1F600}") { name } } fragment T on __Type { name ofType { name } }`,
		`{ stats { n a: best { label } } greeting(name: """x "" \""" y""") }`,
	} {
		body, err := json.Marshal(graphql.Request{Query: query, Variables: json.RawMessage(`{"y":true,"i":{"title":"t","tags":["a"]},"f":{"or":[{"not":{"id":{"eq":null}}}]}}`)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"query":"{__typename}","variables":{"a":1e999,"a":{}},"operationName":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := graphql.DecodeRequest(body)
		if err != nil {
			return
		}
		start := time.Now()
		op, failed := e.Prepare(req)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if failed == nil {
			op.Key()
			return
		}
		if !json.Valid(failed.Body) || !failed.Failed || failed.Code == "" {
			t.Errorf("%+v: %s", failed, failed.Body)
		}
	})
}

// FuzzEscapes: what is rewritten keeps its length in characters, and no escape
// is left that gqlparser would read wrongly.
func FuzzEscapes(f *testing.F) {
	f.Add(`{a(b:"\uD83D\uDE00 \u{1F600} \u00e9 \\u{41}" c:"""\uD83D""")} # "\uD83D`)
	f.Add(`"\uDE00\uD83D"`)
	f.Add(`"\u{110000}\u{}"\n"`)
	f.Fuzz(func(t *testing.T, text string) {
		plain, ok := graphql.PlainEscapes(text)
		grown := utf8.RuneCountInString(plain) - utf8.RuneCountInString(text)
		if ok && (grown < 0 || grown > strings.Count(text, `\u{`)) { // \u{0} becomes \u0000
			t.Errorf("%q became %q", text, plain)
		}
	})
}

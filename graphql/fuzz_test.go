package graphql_test

import (
	"encoding/json"
	"reflect"
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

// FuzzDecodeRequest: whatever way a request is read, it is what encoding/json
// makes of it.
func FuzzDecodeRequest(f *testing.F) {
	for _, body := range []string{
		`{"query":"{ a }","variables":{"a":[1,"\u00e9"]},"extensions":null,"operationName":"A","documentId":"sha256:x","queryId":"q"}`,
		`{"query":"{ \ud83d\ude00 \ud83d }","query":null}`, `{"variables":{},"variables":{"a":1},"other":{"query":"x"}}`,
		`{"Query":"{ a }"}`, `{"qu\u0065ry":"{ a }"}`, `{"query":1}`, `{"query":"a"} {}`, `{"variables": null, "operationName": null}`, `{}`,
		`{"query":"a","query":"{ a }","sent":{"ID":"x","Since":"1"},"Trusted":true,"counted":true,"moved":true}`, `{"documentıd":"x"}`, `{"extenſions":{}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := graphql.DecodeRequest(body)
		if err != nil {
			return
		}
		var want graphql.Request
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q was taken: %v", body, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q became %+v and not %+v", body, got, want)
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

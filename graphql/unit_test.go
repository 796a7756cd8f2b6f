package graphql_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tidings/graphql"
	"tidings/schema"
)

// prepared is an engine that runs nothing.
func prepared(t testing.TB, o graphql.Options) *graphql.Engine {
	t.Helper()
	m, err := schema.Load(socialDir(t))
	if err != nil {
		t.Fatal(err)
	}
	o.Functions = functions()
	e, err := graphql.New(m, nil, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAWrongVariableIsToldWithItsPath(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	for _, c := range []struct{ typ, value, field, message string }{
		{"CreatePostInput!", `{"title":"t","tags":["a",5]}`, "v.tags[1]", `got an invalid value at "v.tags[1]": String cannot represent the value 5: it must be a string`},
		{"CreatePostInput!", `{"title":null}`, "v.title", `found null`},
		{"CreatePostInput!", `{"tags":[]}`, "v", `Field "title" of required type "String!" was not provided`},
		{"CreatePostInput!", `{"title":"t","nope":1}`, "v", `Field "nope" is not defined`},
		{"CreatePostInput!", `{"title":"t","minutes":0}`, "v.minutes", `PositiveInt cannot represent the value 0`},
		{"CreatePostInput!", `{"title":"t","kind":"note"}`, "v.kind", `Value "note" does not exist in "PostKind" enum`},
		{"PostFilter", `{"or":[{"not":{"kind":{"in":["NOTE","X"]}}}]}`, "v.or[0].not.kind.in[1]", `"X"`},
		{"[PostOrder!]", `{"field":"nope"}`, "v.field", `PostOrderField`},
		{"Int", `2147483648`, "v", `Int cannot represent`},
		{"Int", `"` + strings.Repeat("long ", 50) + `"`, "v", `…`},
	} {
		_, failed := e.Prepare(graphql.Request{
			Query:     "query($v: " + c.typ + ") { __typename ...F @skip(if: true) } fragment F on Query { posts(filter: " + pick(c.typ == "PostFilter", "$v", "null") + ") { totalCount } x: posts(orderBy: " + pick(c.typ == "[PostOrder!]", "$v", "null") + ") { totalCount } user(id: \"x\") { posts(limit: " + pick(c.typ == "Int", "$v", "1") + ") { id } } }",
			Variables: json.RawMessage(`{"v":` + c.value + `}`),
		})
		if c.typ == "CreatePostInput!" {
			_, failed = e.Prepare(graphql.Request{Query: `mutation($v: CreatePostInput!) { createPost(input: $v) { id } }`, Variables: json.RawMessage(`{"v":` + c.value + `}`)})
		}
		if failed == nil {
			t.Errorf("%s: %s passed", c.typ, c.value)
			continue
		}
		r := decode(t, string(failed.Body))
		if r.Errors[0].Extensions.Field != c.field || !strings.Contains(r.Errors[0].Message, c.message) || len(r.Errors[0].Message) > 250 {
			t.Errorf("%s %.80s: %s", c.typ, c.value, failed.Body)
		}
	}
}

func pick(use bool, yes, no string) string {
	if use {
		return yes
	}
	return no
}

func TestADocumentIsParsedOnce(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	a := prepare(t, e, `query($x: Boolean!) { __typename @skip(if: $x) }`, `{"x":true}`)
	b := prepare(t, e, `query($x: Boolean!) { __typename @skip(if: $x) }`, `{"x":true}`)
	c := prepare(t, e, `query($x: Boolean!) { __typename @skip(if: $x) }`, `{"x":false}`)
	if !graphql.SamePlan(a, b) {
		t.Error("the same conditions, other plans")
	}
	if graphql.SamePlan(a, c) {
		t.Error("other conditions, the same plan")
	}
}

func TestKindSaysWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	const query = `query Q { __typename } mutation M { deleteUser(input: {id: 1}) { id } } subscription S { count }`
	for name, want := range map[string]string{"Q": "query", "M": "mutation", "S": "subscription"} {
		if kind, err := e.Kind(t.Context(), graphql.Request{Query: query, OperationName: name}); kind != want || err != nil {
			t.Errorf("%s: %q, %v", name, kind, err)
		}
	}
	if _, err := e.Kind(t.Context(), graphql.Request{Query: query}); err == nil {
		t.Error("no name, no error")
	}
	if _, err := e.Kind(t.Context(), graphql.Request{Query: `{`}); err == nil {
		t.Error("no document, no error")
	}
}

func TestEscapesAreReadAsTheSpecificationSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"\uD83D\uDE00"`:          `"😀"           `,
		`"\u{1F600}" x`:           `"😀"         x`,
		`"\u{22}\u{a}\u00e9"`:     `"\u0022\u000aé"    `,
		`"\\u{41}"`:               `"\\u{41}"`,
		`# "\uD83D` + "\n{ a }":   `# "\uD83D` + "\n{ a }",
		`"""\uD83D \""" \u"""`:    `"""\uD83D \""" \u"""`,
		`"\u{110000}" "\u12" "\u`: `"\u{110000}" "\u12" "\u`,
	} {
		if got, ok := graphql.PlainEscapes(text); !ok || got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{`"\uD83D"`, `"\uDE00"`, `"\uDE00\uD83D"`, `"\uD83D\n"`, `"\u{D83D}"`} {
		if got, ok := graphql.PlainEscapes(text); ok {
			t.Errorf("%s became %q", text, got)
		}
	}
}

func TestTheCacheIsBoundedByItsTexts(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	for i := range 300 {
		prepare(t, e, "{ __typename } #"+strings.Repeat("x", 20<<10+i), "")
		if texts, size := graphql.Cached(e); texts > 110 || size > 2<<20 || size < 0 {
			t.Fatalf("%d texts of %d bytes", texts, size)
		}
	}
	if texts, size := graphql.Cached(e); texts < 50 || size < 1<<20 {
		t.Errorf("only %d texts of %d bytes", texts, size)
	}
}

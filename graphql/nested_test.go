package graphql_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource/resourcetest"
)

const pagesSDL = `
interface Asset { url: URL! caption: String }
type Image implements Asset { url: URL! caption: String @constraint(maxLength: 5) size: Size }
type Video implements Asset { url: URL! caption: String seconds: Int! @default(value: 30) }
union Block = Text | Image
type Text { body: String! on: Date extra: JSON grid: [[Int!]] }
type Size { width: Int! height: Int }
interface Named { slug: String! }
type Page implements Named @resource @auth(requires: [ANYONE], on: [READ]) @auth(requires: [USER], on: [CREATE]) @auth(requires: [OWNER], on: [UPDATE]) {
  id: ID!
  ownerId: ID! @owner
  slug: String! @unique
  hero: Asset
  blocks: [Block!]! @default(value: [])
  rows: [[Text]!]
  meta: JSON
  secret: Size! @auth(requires: [OWNER])
  since: Date @index
}
type Tag implements Named @resource @auth(requires: [ADMIN], on: [READ]) { id: ID! slug: String! }
type Query {
  found: [Named]!
  grid: [[Asset!]]
  echo(block: BlockInput, json: JSON, by: By): JSON
  pages(first: Int = 1, filter: PageFilter): PageConnection
}
input By @oneOf { id: ID slug: String }
`

func newPages(t *testing.T) (*graphql.Engine, string) {
	t.Helper()
	s := resourcetest.New(t, fstest.MapFS{"schema.graphql": {Data: []byte(pagesSDL)}})
	value := func(text string) graphql.Function {
		return graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return json.RawMessage(text), nil }}
	}
	engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: map[string]graphql.Function{
		"Query.found": value(`[{"__typename":"Page","id":"1","slug":"p"},{"__typename":"Tag","id":"2","slug":"t"},{"slug":"?"},null]`),
		"Query.grid":  value(`[[{"__typename":"Image","url":"https://a.org/1"},{"__typename":"Video","seconds":1}],null,[],[{"__typename":"Video","url":"https://a.org/2","seconds":2}],7]`),
		"Query.echo":  {Resolve: func(_ context.Context, c graphql.Call) (any, error) { return c.Args, nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	created := engine.Execute(t.Context(), ada, graphql.Request{Query: `mutation($blocks: [BlockInput!]) { createPage(input: {
		slug: "home", since: "2026-11-20", meta: {a: [1.50, ENUM, null]}, secret: {width: 1},
		hero: {image: {url: "https://a.org/x", size: {width: 3}}}, blocks: $blocks, rows: [[{body: "r"}, null], []]}) { id } }`,
		Variables: json.RawMessage(`{"blocks":[{"text":{"body":"<b>","on":"2026-02-28","extra":{"z":1},"grid":[[1],null]}},{"image":{"url":"https://a.org/y","caption":"c"}}]}`)})
	var got struct {
		Data struct{ CreatePage struct{ ID string } }
	}
	if err := json.Unmarshal(created.Body, &got); err != nil || got.Data.CreatePage.ID == "" {
		t.Fatalf("%s: %v", created.Body, err)
	}
	return engine, got.Data.CreatePage.ID
}

func TestEmbeddedObjectsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	engine, id := newPages(t)
	for _, c := range []struct {
		query, data string
		who         auth.Principal
		code        fault.Code
	}{
		{query: `{hero{__typename url ...on Image{size{width height}} ...on Video{seconds}}}`, data: `{"hero":{"__typename":"Image","url":"https://a.org/x","size":{"width":3,"height":null}}}`},
		{query: `{blocks{__typename ...on Text{body on extra grid} ...on Asset{url caption}}}`,
			data: `{"blocks":[{"__typename":"Text","body":"<b>","on":"2026-02-28","extra":{"z":1},"grid":[[1],null]},{"__typename":"Image","url":"https://a.org/y","caption":"c"}]}`},
		{query: `{hero{...on Image{x:url} ...on Video{x:url}}}`, data: `{"hero":{"x":"https://a.org/x"}}`},
		{query: `{rows{body} ...on Named{slug} meta since}`, data: `{"rows":[[{"body":"r"},null],[]],"slug":"home","meta":{"a":[1.50,"ENUM",null]},"since":"2026-11-20"}`},
		{query: `{secret{width}}`, data: `{"secret":null}`, code: fault.Forbidden},
		{query: `{secret{width}}`, who: ada, data: `{"secret":{"width":1}}`},
	} {
		resp := engine.Execute(t.Context(), c.who, graphql.Request{Query: `{page(id:"` + id + `")` + c.query + `}`})
		want := `{"data":{"page":` + c.data + `}`
		if !strings.HasPrefix(string(resp.Body), want) || resp.Code != c.code {
			t.Errorf("%s\ngives %s\nwant  %s, %s", c.query, resp.Body, want, c.code)
		}
	}
}

func TestPartsOfEmbeddedInputsAreChecked(t *testing.T) {
	t.Parallel()
	engine, id := newPages(t)
	for _, c := range []struct{ input, field string }{
		{`hero: {image: {url: "https://a.org/", caption: "too long"}}`, "input.hero.image.caption"},
		{`blocks: [{text: {body: "b", on: "2026-02-28"}}, {image: {url: "https://a.org/", caption: "too long"}}]`, "input.blocks[1].image.caption"},
	} {
		resp := engine.Execute(t.Context(), ada, graphql.Request{Query: `mutation{updatePage(input:{id:"` + id + `",` + c.input + `}){id}}`})
		if resp.Code != fault.BadUserInput || !strings.Contains(string(resp.Body), `"field":"`+c.field+`"`) {
			t.Errorf("%s gives %s", c.input, resp.Body)
		}
	}
	for _, query := range []string{
		`{echo(block: {text: {body: "x"}, image: {url: "https://a.org/"}})}`,
		`{echo(block: {})}`, `{echo(block: {text: null})}`,
		`query($t: TextInput){echo(block: {text: $t})}`,
		`query($t: TextInput!, $i: ImageInput!){echo(block: {text: $t, image: $i})}`,
		`{echo(block: {text: {body: "x", on: "2026-02-30"}})}`,
		`{pages(last: 1){nodes{id}}}`,
	} {
		if resp := engine.Execute(t.Context(), ada, graphql.Request{Query: query}); resp.Code != fault.ValidationFailed {
			t.Errorf("%s gives %s", query, resp.Body)
		}
	}
}

func TestFunctionsGiveInterfacesUnionsAndListsOfLists(t *testing.T) {
	t.Parallel()
	engine, _ := newPages(t)
	for _, c := range []struct {
		who               auth.Principal
		query, vars, data string
		errors            int
	}{
		{nobody, `{found{__typename slug ...on Page{id}}}`, ``, `{"found":[{"__typename":"Page","slug":"p","id":"1"},null,null,null]}`, 2},
		{admin, `{found{__typename slug ...on Page{id}}}`, ``, `{"found":[{"__typename":"Page","slug":"p","id":"1"},{"__typename":"Tag","slug":"t"},null,null]}`, 1},
		{nobody, `{grid{__typename}}`, ``, `{"grid":[[{"__typename":"Image"},{"__typename":"Video"}],null,[],[{"__typename":"Video"}],null]}`, 1},
		{nobody, `{grid{url}}`, ``, `{"grid":[null,null,[],[{"url":"https://a.org/2"}],null]}`, 2},
		{nobody, `query($a:Int,$b:JSON){echo(json:{a:$a,b:[$b,$a],c:1.50,d:E})}`, `{"b":{"x":1e2}}`, `{"echo":{"json":{"b":[{"x":1e2},null],"c":1.50,"d":"E"}}}`, 0},
		{nobody, `query($id:ID!){echo(by:{id:$id})}`, `{"id":7}`, `{"echo":{"by":{"id":"7"}}}`, 0},
		{nobody, `{pages{nodes{slug} totalCount}}`, ``, `{"pages":{"nodes":[{"slug":"home"}],"totalCount":1}}`, 0},
	} {
		resp := engine.Execute(t.Context(), c.who, graphql.Request{Query: c.query, Variables: json.RawMessage(c.vars)})
		if want := `{"data":` + c.data; !strings.HasPrefix(string(resp.Body), want) || strings.Count(string(resp.Body), `"message"`) != c.errors {
			t.Errorf("%s\ngives %s\nwant  %s and %d errors", c.query, resp.Body, want, c.errors)
		}
	}
}

func TestAGeneratedFieldInAnotherShapeNeedsAFunction(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"schema.graphql": {Data: []byte(`
type Note @resource { id: ID! text: String }
type Query {
  note(id: ID!): Note!
  notes(first: Int = 5, city: String): NoteConnection
}
type Mutation { deleteNote(input: DeleteNoteInput!, really: Boolean!): Note @auth(requires: [ADMIN]) }
`)}})
	_, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	for _, want := range []string{
		"nothing answers the field Query.notes, which is declared in another shape than the generated one: declare it as `notes(first: Int, after: String, last: Int, before: String, filter: NoteFilter, orderBy: [NoteOrder!]): NoteConnection`",
		"nothing answers the field Mutation.deleteNote",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "Query.note,") {
		t.Errorf("a narrower field is not accepted: %v", err)
	}
}

package soap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/fault"
	"tidings/graphql"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/soap"
)

const ownSDL = `
type Note @resource @auth(requires: [ANYONE]) {
  id: ID!
  text: String! @index @constraint(notContains: "forbidden")
  bookId: ID
  book: Book @belongsTo(field: "bookId")
}
type Book @resource @auth(requires: [ANYONE]) {
  id: ID!
  title: String!
  notes(limit: Int = 2): [Note!]! @hasMany(field: "bookId") @soap(include: true)
}
type Query {
  answer(to: String!): Int
  shapes(of: Where): [Shape!]
  weather: Weather
  failing: Int
  roots: [Float]!
  secret: Int @auth(requires: [ADMIN])
}
type Mutation {
  bump(by: Int! = 1): Int!
}
type Weather { warm: Float! wind: Wind kinds: [Kind!] }
type Wind { speed: Int }
enum Kind { SUN RAIN }
interface Shape { area: Float }
type Circle implements Shape { area: Float radius: Int! }
type Square implements Shape { area: Float side: Int! }
input Where { kind: Kind = SUN and: [Where!] }
`

const ownOperations = `
query noteWithBook($id: ID!) @soap(name: "GetNoteWithBook") {
  note(id: $id) { ...head inside: book { notes(limit: 1) { ...head } } }
}
query Both @soap { one: answer(to: "1") weather { wind { speed } } }
query BothFail @soap { one: answer(to: "1") failing }
query BothRefused @soap { one: answer(to: "1") secret }
query Shapes @soap { shapes { area ... on Circle { radius } ... on Square { side } } }
mutation addNote($words: String!) @soap { createNote(input: {text: $words}) { text } }
fragment head on Note { text }
`

// ownWorld is a service with root fields of its own, and stored operations.
func ownWorld(t *testing.T) (*world, *xsdSet) {
	t.Helper()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(ownSDL)}, "operations.graphql": {Data: []byte(ownOperations)}})
	bumped := int64(0)
	answer := func(value any, err error) graphql.Function {
		return graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return value, err }}
	}
	shapes := []any{
		map[string]any{"__typename": "Square", "area": 4.0, "side": 2},
		map[string]any{"__typename": "Circle", "area": nil, "radius": 1},
	}
	o := soap.Options{TrustTransport: true, Address: "http://localhost"}
	serveWith(t, s, o, accounts(t), graphql.Options{Functions: map[string]graphql.Function{
		"Query.answer": {Resolve: func(_ context.Context, c graphql.Call) (any, error) {
			if c.Args["to"] == "nothing" {
				return nil, nil
			}
			return len(c.Args["to"].(string)), nil
		}},
		"Query.shapes":  answer(shapes, nil),
		"Query.weather": answer(map[string]any{"warm": 21.5, "wind": nil, "kinds": []any{"SUN"}}, nil),
		"Query.failing": answer(nil, fault.New(fault.NotFound, "nobody fails like me")),
		"Query.roots":   answer([]any{1.5, nil}, nil),
		"Query.secret":  answer(7, nil),
		"Mutation.bump": {Resolve: func(_ context.Context, c graphql.Call) (any, error) {
			bumped += c.Args["by"].(int64)
			return bumped, nil
		}},
	}})
	await(t, s)
	text, err := soap.WSDL(s.Model, o, false)
	if err != nil {
		t.Fatal(err)
	}
	return &world{Service: s, url: edge(t, s, o)}, schemaOf(t, text)
}

// told sends the body's element and returns the answer's, without prefixes.
func (w *world) told(t *testing.T, xsd *xsdSet, body string) string {
	t.Helper()
	_, answer := w.post(t, map[string][]string{"Content-Type": {"text/xml"}},
		`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><s:Body>`+body+`</s:Body></s:Envelope>`)
	if !strings.Contains(answer, "faultstring") {
		xsd.validAnswer(t, []byte(answer))
	}
	_, answer, _ = strings.Cut(answer, "<soap:Body>")
	answer, _, _ = strings.Cut(answer, "</soap:Body>")
	return strings.ReplaceAll(answer, "tns:", "")
}

func TestRootFieldsOfTheAdopterAreOperations(t *testing.T) {
	t.Parallel()
	w, xsd := ownWorld(t)
	for body, want := range map[string]string{
		`<GetAnswer><to>four</to></GetAnswer>`:    `<result>4</result>`,
		`<GetAnswer><to>nothing</to></GetAnswer>`: `<result xsi:nil="true"/>`,
		`<GetAnswer/>`:  `<code>BAD_USER_INPUT</code><message>the element is missing</message><path>to</path>`,
		`<GetWeather/>`: `<result><warm>21.5</warm><kinds><item>SUN</item></kinds></result>`,
		`<ListRoots/>`:  `<result><item>1.5</item><item xsi:nil="true"/></result>`,
		`<ListShapes><of><kind>RAIN</kind></of></ListShapes>`: `<result><item><square><area>4</area><side>2</side></square></item><item><circle><area xsi:nil="true"/><radius>1</radius></circle></item></result>`,
		`<ListShapes><of><kind>SNOW</kind></of></ListShapes>`: `<path>of.kind</path>`,
		`<ListShapes><of><and/></of></ListShapes>`:            `there is no element and here`,
		`<GetFailing/>`:                          `<code>NOT_FOUND</code><message>nobody fails like me</message>`,
		`<GetSecret/>`:                           `<code>FORBIDDEN</code>`,
		`<Shapes/>`:                              `<item><circle><area xsi:nil="true"/><radius>1</radius></circle></item>`,
		`<Both/>`:                                `<result><one>1</one><weather></weather></result>`,
		`<BothFail/>`:                            `<code>NOT_FOUND</code><message>nobody fails like me</message><path>failing</path>`,
		`<BothRefused/>`:                         `<code>FORBIDDEN</code>`,
		`<AddNote><words>kept</words></AddNote>`: `<result><text>kept</text></result>`,
		`<AddNote/>`:                             `<path>words</path>`,
		`<AddNote><words>forbidden word</words></AddNote>`:   `<path>words</path>`,
		`<GetNoteWithBook><id>nobody</id></GetNoteWithBook>`: `<code>NOT_FOUND</code>`,
		`<ListNotes><first xsi:nil="true"/></ListNotes>`:     `<totalCount>`,
		`<GetTicks/>`: `faultstring`,
	} {
		if got := w.told(t, xsd, body); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	if first, second := w.told(t, xsd, `<Bump/>`), w.told(t, xsd, `<Bump><by>4</by></Bump>`); !strings.Contains(first, `<result>1</result>`) || !strings.Contains(second, `<result>5</result>`) {
		t.Errorf("%s, %s", first, second)
	}
}

func TestStoredOperationsShowWhatTheySelect(t *testing.T) {
	t.Parallel()
	w, xsd := ownWorld(t)
	id := func(answer string) string {
		_, rest, _ := strings.Cut(answer, "<id>")
		id, _, _ := strings.Cut(rest, "</id>")
		return id
	}
	book := id(w.told(t, xsd, `<CreateBook><input><title>Fish</title></input></CreateBook>`))
	var note string
	for _, text := range []string{"a", "b", "c"} {
		note = id(w.told(t, xsd, `<CreateNote><input><text>`+text+`</text><bookId>`+book+`</bookId></input></CreateNote>`))
	}
	if got, want := w.told(t, xsd, `<GetNoteWithBook><id>`+note+`</id></GetNoteWithBook>`), `<result><text>c</text><inside><notes><item><text>c</text></item></notes></inside></result>`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	got := w.told(t, xsd, `<GetBook><id>`+book+`</id></GetBook>`)
	if strings.Count(got, "<item>") != 2 || !strings.Contains(got, `<item><id>`+note+`</id><text>c</text><bookId>`) {
		t.Errorf("the included list is not there up to its limit: %s", got)
	}
}

// The names that root fields of the adopter's get.
func TestOperationsAreNamedByWhatTheyDo(t *testing.T) {
	t.Parallel()
	const sdl = `
type Query {
  user(id: ID!): Int users: [Int!] search: Int searchUsers: [Int!] checkout: Int getIt: Int server_time: Int
  findURL: Int allHits: HitConnection named: Int @soap(name: "Called") hidden: Int @soap(expose: false)
}
type Mutation { restart: Int userAdd: Int set_it: Int }
type HitConnection { nodes: [Int!] }`
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(sdl)}})
	if err != nil {
		t.Fatal(err)
	}
	documents, err := soap.Documents(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GetUser", "ListUsers", "Search", "SearchUsers", "GetCheckout", "GetIt", "GetServerTime", "FindURL", "ListAllHits", "Called", "Restart", "UserAdd", "SetIt"} {
		if documents[name] == "" {
			t.Errorf("there is no %s", name)
		}
		delete(documents, name)
	}
	if len(documents) > 0 {
		t.Errorf("more: %v", documents)
	}
}

func TestAStoredOperationThatCannotBeRunIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	var aliases strings.Builder
	for i := range 4_001 {
		fmt.Fprintf(&aliases, "a%d: id ", i)
	}
	for operation, want := range map[string]string{
		`query Wide @soap { note(id: "1") { ` + aliases.String() + `} }`:   "Wide would have more than 4000 fields",
		`query Far @soap { notes(first: 99999999999) { nodes { text } } }`: "the operation Far of v1 cannot be run",
	} {
		s := resourcetest.New(t, fstest.MapFS{
			"s.graphql": {Data: []byte(`type Note @resource { id: ID! text: String }`)},
			"o.graphql": {Data: []byte(operation)},
		})
		engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = soap.NewService(s.Bus, s.Model, engine, nil, nil, soap.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

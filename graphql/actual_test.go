package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/graphql"
	"tidings/schema"
)

const gallery = `
type Query {
  wall: [[Piece]] @listSize(assumedSize: 4)
  best: Piece
  named: [Named!] @listSize(assumedSize: 3)
  flat: [Piece!] @cost(weight: 2) @listSize(assumedSize: 3)
}
union Piece = Painting | Photo
interface Named { name: String }
type Painting implements Named @cost(weight: 5) { name: String frame: Frame versions: [[Frame]] oil: Int @cost(weight: 0.5) }
type Photo implements Named { name: String frame: Frame grain: Int @cost(weight: 3) }
type Frame @cost(weight: 2) { width: Int }
`

const (
	paintingJSON = `{"__typename":"Painting","name":"a","oil":1,"frame":{"width":1},"versions":[[{"width":1},null],null,[],[{"width":2},{"width":3}]]}`
	photoJSON    = `{"__typename":"Photo","name":"b","grain":9}`
)

func galleryEngine(t *testing.T) *graphql.Engine {
	t.Helper()
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(gallery)}})
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]graphql.Function{}
	for name, text := range map[string]string{
		"wall":  `[[P,Q,null],null,[],[Q]]`,
		"best":  `P`,
		"named": `[Q,P]`,
		"flat":  `[P,Q]`,
	} {
		text = strings.NewReplacer("P", paintingJSON, "Q", photoJSON).Replace(text)
		functions["Query."+name] = graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return json.RawMessage(text), nil }}
	}
	e, err := graphql.New(m, nil, nil, graphql.Options{Functions: functions})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A painting weighs 5, a photo 1, a frame 2. The wall holds a painting and two
// photos, and nulls that weigh nothing.
func TestTheActualCostDescendsIntoMembersAndInnerLists(t *testing.T) {
	t.Parallel()
	e := galleryEngine(t)
	for _, c := range []struct {
		query             string
		estimated, actual int
	}{
		{`{ wall { __typename } }`, 4 * 5, 5 + 1 + 1},
		{`{ wall { ... on Photo { grain } } }`, 4 * 5, 5 + 2*(1+3)},
		{`{ wall { ... on Painting { oil } } }`, 4 * 11 / 2, 6 + 1 + 1}, // 5.5 is rounded up in the end
		{`{ wall { ... on Named { name } ... on Painting { frame { width } } ... on Photo { frame { width } grain } } }`, 4 * 7, (5 + 2) + 2*(1+3)},
		{`{ wall { ... on Painting { versions { width } } } }`, 4 * (5 + 20*2), 5 + 3*2 + 1 + 1},
		{`{ best { ... on Painting { versions { width } frame { width } } } }`, 5 + 20*2 + 2, 5 + 3*2 + 2},
		{`{ best { ... on Photo { grain } } }`, 5, 5},
		{`{ named { name } }`, 3 * 5, 1 + 5},
		{`{ flat { ... on Photo { grain } } }`, 3 * (2 + 3), 2 + (2 + 3)}, // the field's own weight counts before the types'
	} {
		r := e.Execute(t.Context(), ada, graphql.Request{Query: c.query, WantCost: true})
		if want := fmt.Sprintf(`"cost":{"actual":%d,"estimated":%d,`, c.actual, c.estimated); !strings.Contains(string(r.Body), want) {
			t.Errorf("%s\n got %s\nwant %s", c.query, r.Body, want)
		}
	}
}

func TestTheActualCostOfEmbeddedObjectsIsThatOfWhatIsThere(t *testing.T) {
	t.Parallel()
	engine, id := newPages(t)
	for query, want := range map[string]string{
		// the page, its hero, and that one's size
		`{ page(id: "ID") { hero { url ... on Image { size { width } } } } }`: `"actual":3,"estimated":3,`,
		// the page and two blocks, of which the image has no size
		`{ page(id: "ID") { blocks { ... on Text { body } ... on Image { size { width } } } } }`: `"actual":3,"estimated":41,`,
		// the page and the one text in [[{body: "r"}, null], []]
		`{ page(id: "ID") { rows { body } } }`: `"actual":2,"estimated":21,`,
		// the connection, its one page, and what that has
		`{ pages(first: 5) { nodes { hero { ... on Image { size { width } } } rows { body } } } }`: `"actual":5,"estimated":116,`,
	} {
		r := engine.Execute(t.Context(), ada, graphql.Request{Query: strings.ReplaceAll(query, "ID", id), WantCost: true})
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("%s\n got %s\nwant %s", query, r.Body, want)
		}
	}
}

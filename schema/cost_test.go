package schema_test

import (
	"reflect"
	"testing"

	"tidings/schema"
)

const pricedSDL = `
type Book @resource @cost(weight: 2) {
  id: ID!
  title: String! @index @cost(weight: "0.5")
  pages: Int
  notes(limit: Int = 7): [Note!]! @hasMany(field: "bookId")
}
type Note @resource { id: ID! bookId: ID! book: Book @belongsTo(field: "bookId") @cost(weight: -1) }
scalar Report @cost(weight: 20)
input Range { first: Int! @cost(weight: 3) unit: String }
type Query {
  report(month: Int! @cost(weight: 4.5), range: Range): Report
  words(range: Range!): [String!] @listSize(slicingArguments: ["range.first"], slicingArgumentDefaultValue: 5)
  hits: Hits @listSize(assumedSize: 30, sizedFields: "items")
}
type Hits { items: [String!]! }
`

func TestCostOfFieldsArgumentsAndLists(t *testing.T) {
	t.Parallel()
	m := load(t, pricedSDL)
	for _, want := range []struct {
		typ, field string
		weight     float64
	}{
		{"Query", "report", 20}, {"Query", "words", 0}, {"Query", "hits", 1}, {"Query", "book", 2}, {"Query", "books", 1},
		{"Book", "title", 0.5}, {"Book", "pages", 0}, {"Book", "notes", 1}, {"Note", "book", -1},
		{"BookConnection", "totalCount", 10}, {"BookEdge", "node", 2},
	} {
		if got := m.Cost(want.typ, want.field); got == nil || got.Weight != want.weight {
			t.Errorf("Cost(%s.%s) = %+v, want the weight %v", want.typ, want.field, got, want.weight)
		}
	}
	if m.Cost("Query", "__typename") != nil {
		t.Error("__typename weighs something")
	}
	if args := m.Cost("Query", "report").Arguments; args["month"] != 4.5 || args["range"] != 1 || len(args) != 2 {
		t.Errorf("the arguments of report weigh %v", args)
	}
	if m.InputCost("Range", "first") != 3 || m.InputCost("Range", "unit") != 0 || m.InputCost("BookFilter", "title") != 1 {
		t.Error("input fields do not weigh what they should")
	}
	checkSize(t, m.Cost("Query", "words").List, schema.ListSize{AssumedSize: -1, DefaultSize: 5, SlicingArguments: []string{"range.first"}, RequireOne: true})
	checkSize(t, m.Cost("Query", "hits").List, schema.ListSize{AssumedSize: 30, DefaultSize: -1, SizedFields: []string{"items"}})
	checkSize(t, m.Cost("Query", "books").List, schema.ListSize{AssumedSize: -1, DefaultSize: 20, SlicingArguments: []string{"first", "last"}, SizedFields: []string{"nodes", "edges"}})
	checkSize(t, m.Cost("Book", "notes").List, schema.ListSize{AssumedSize: -1, DefaultSize: 7, SlicingArguments: []string{"limit"}})
}

func checkSize(t *testing.T, got *schema.ListSize, want schema.ListSize) {
	t.Helper()
	if got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

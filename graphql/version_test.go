package graphql_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/fault"
	"tidings/graphql"
	"tidings/resource/resourcetest"
)

const library = `
type Shelf @resource @auth(requires: [USER, ADMIN]) {
  id: ID!
  name: String!
  version: Int! @version
  books(limit: Int = 10): [Book!]! @hasMany(field: "shelfId")
}
type Book @resource @auth(requires: [USER, ADMIN]) {
  id: ID!
  title: String!
  shelfId: ID!
  shelf: Shelf @belongsTo(field: "shelfId", onDelete: RESTRICT)
}
`

func TestAConflictOfVersionsTellsTheCurrentOne(t *testing.T) {
	t.Parallel()
	s := &service{Service: resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(library)}})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{}); err != nil {
		t.Fatal(err)
	}
	id := idOf(t, s.create(t, "Shelf", `{"name":"a"}`))
	update := func(operation string, version int) string {
		return s.run(t, ada, fmt.Sprintf(`mutation %s { updateShelf(input: {id: %q, name: "b", expectedVersion: %d}) { name version } }`, operation, id, version), "")
	}
	if body := update("", 1); body != `{"data":{"updateShelf":{"name":"b","version":2}}}` {
		t.Error(body)
	}
	for _, operation := range []string{"", "@transaction"} {
		body := update(operation, 1)
		if got := decode(t, body); len(got.Errors) != 1 || got.Errors[0].Extensions.Code != fault.Conflict || !strings.Contains(body, `"currentVersion":2`) || !strings.Contains(body, `"field":"input.expectedVersion"`) {
			t.Error(body)
		}
	}
	// one is refused, and so both are
	body := s.run(t, ada, fmt.Sprintf(`mutation @transaction {
		book: createBook(input: {title: "t", shelfId: %[1]q}) { id }
		gone: deleteShelf(input: {id: %[1]q, expectedVersion: 2}) { id } }`, id), "")
	if got := decode(t, body); len(got.Errors) != 2 || got.Errors[0].Path[0] != "book" || !strings.Contains(got.Errors[0].Message, "there is none with the id") || got.Errors[0].Extensions.Code != fault.BadUserInput {
		t.Error(body)
	}
	s.create(t, "Book", fmt.Sprintf(`{"title":"t","shelfId":%q}`, id))
	body = s.run(t, ada, fmt.Sprintf(`mutation { deleteShelf(input: {id: %q}) { id } }`, id), "")
	if got := decode(t, body); len(got.Errors) != 1 || got.Errors[0].Extensions.Code != fault.Conflict || !strings.Contains(got.Errors[0].Message, "1 by Book.shelfId") {
		t.Error(body)
	}
}

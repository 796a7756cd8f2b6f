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

func TestAFieldOfATransactionMayReferToWhatAnEarlierOneCreates(t *testing.T) {
	t.Parallel()
	s := &service{Service: resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(library)}})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Answers: answers(t, s.Bus)}); err != nil {
		t.Fatal(err)
	}
	query := `mutation($on: ID!) @transaction {
		shelf: createShelf(input: {name: "new"}) { name books { title } }
		a: createBook(input: {title: "a", shelfId: "$shelf"}) { shelf { name } }
		createBook(input: {title: "b", shelfId: $on}) { shelf { name } } }`
	r := s.engine.Execute(t.Context(), ada, graphql.Request{Query: query, Variables: []byte(`{"on":"$shelf"}`), IdempotencyKey: "k"})
	if want := `{"data":{"shelf":{"name":"new","books":[{"title":"b"},{"title":"a"}]},"a":{"shelf":{"name":"new"}},"createBook":{"shelf":{"name":"new"}}}}`; string(r.Body) != want {
		t.Errorf("%s", r.Body)
	}
	for _, wrong := range []string{"$book", "$", "$createShelf", "$after"} {
		body := s.run(t, ada, fmt.Sprintf(`mutation @transaction {
			shelf: createShelf(input: {name: "x"}) { id } a: createBook(input: {title: "a", shelfId: "$shelf"}) { id }
			b: createBook(input: {title: "b", shelfId: %q}) { id } after: createShelf(input: {name: "x"}) { id } }`, wrong), "")
		if got := decode(t, body); len(got.Errors) != 4 || got.Errors[0].Extensions.Field != "input.shelfId" || got.Errors[0].Message != wrong+" names no earlier field of the transaction that creates a Shelf" {
			t.Error(body)
		}
	}
	if body := s.run(t, ada, `mutation { createBook(input: {title: "a", shelfId: "$shelf"}) { id } }`, ""); !strings.Contains(body, "there is none with the id") {
		t.Errorf("outside of a transaction it is an id like any other: %s", body)
	}
}

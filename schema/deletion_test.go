package schema_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"tidings/schema"
)

const shelf = `
type Book @resource {
  id: ID!
  shelfId: ID
  shelf: Shelf @belongsTo(field: "shelfId"RULE)
}
type Shelf @resource {
  id: ID!
  name: String!
}
`

func TestADeletionRuleIsAPartOfTheContract(t *testing.T) {
	t.Parallel()
	rule := func(word string) string {
		if word != "" {
			word = ", onDelete: " + word
		}
		return strings.Replace(shelf, "RULE", word, 1)
	}
	for _, c := range []struct{ old, new, want string }{
		{"", "KEEP", "BREAKING ON_DELETE_ADDED Book.shelf"},
		{"", "CASCADE", "BREAKING ON_DELETE_ADDED Book.shelf"},
		{"", "null", ""},
		{"KEEP", "", "SAFE ON_DELETE_REMOVED Book.shelf"},
		{"RESTRICT", "", "DANGEROUS ON_DELETE_REMOVED Book.shelf"},
		{"SET_NULL", "RESTRICT", "BREAKING ON_DELETE_CHANGED Book.shelf"},
		{"RESTRICT", "CASCADE", "DANGEROUS ON_DELETE_CHANGED Book.shelf"},
		{"CASCADE", "CASCADE", ""},
	} {
		var got []string
		for _, change := range schema.Diff(contract(t, rule(c.old)), contract(t, rule(c.new))) {
			got = append(got, change.Class.String()+" "+change.Kind+" "+change.Coordinate)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%q to %q: %s", c.old, c.new, got)
		}
	}
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(rule("SET_NULL"))}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.SDL, `shelf: Shelf @belongsTo(field: "shelfId", onDelete: SET_NULL)`) || !strings.Contains(m.SDL, "enum DeletionRule {") {
		t.Errorf("the contract does not tell it:\n%s", m.SDL)
	}
	refs := m.Resource("Shelf").Referrers
	if len(refs) != 1 || refs[0] != m.Resource("Book").References[0] || refs[0].String() != "Book.shelfId" || refs[0].OnDelete != schema.SetNull {
		t.Errorf("%+v", refs)
	}
}

func TestAVersionIsCountedByTheService(t *testing.T) {
	t.Parallel()
	text := strings.Replace(strings.Replace(shelf, "RULE", "", 1), "name: String!", "name: String!\n  version: Int! @version", 1)
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"CreateShelfInput": "name", "UpdateShelfInput": "id name expectedVersion", "DeleteShelfInput": "id expectedVersion", "DeleteBookInput": "id"} {
		var fields []string
		for _, f := range m.Contract.Types[name].Fields {
			fields = append(fields, f.Name)
		}
		if strings.Join(fields, " ") != want {
			t.Errorf("%s has %s, want %s", name, fields, want)
		}
	}
	var got []string
	for _, change := range schema.Diff(contract(t, strings.Replace(shelf, "RULE", "", 1)), m.Contract) {
		got = append(got, change.Class.String()+" "+change.Coordinate)
	}
	if want := "DANGEROUS DeleteShelfInput.expectedVersion DANGEROUS UpdateShelfInput.expectedVersion SAFE Shelf.version"; strings.Join(got, " ") != want {
		t.Errorf("it is a change as %s", got)
	}
}

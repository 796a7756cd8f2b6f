package schema_test

import (
	"strings"
	"testing"

	"tidings/schema"
)

func TestEachResourceHasAHistoryForAdmins(t *testing.T) {
	t.Parallel()
	m := load(t, `type Note @resource { id: ID! text: String }`)
	root := m.Root("Query", "noteHistory")
	if root == nil || root.Kind != schema.RootHistory || root.Resource.Name != "Note" || root.Rule.Roles != schema.Admin {
		t.Fatalf("%+v", root)
	}
	for _, want := range []string{"): NoteHistoryPage @auth(requires: [ADMIN])", "nodes: [NoteHistoryEntry!]!", "note: Note\n"} {
		if !strings.Contains(m.SDL, want) {
			t.Errorf("the contract lacks %q", want)
		}
	}
}

func TestAHistoryIsInNobodysWay(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a type of the adopter's":   `type Note @resource { id: ID! text: String } type NoteHistoryPage @resource { id: ID! text: String }`,
		"a resource of that name":   `type Note @resource { id: ID! text: String } type NoteHistory @resource { id: ID! text: String }`,
		"a plural":                  `type Note @resource { id: ID! text: String } type Log @resource(plural: "noteHistory") { id: ID! text: String }`,
		"a field of another type":   `type Note @resource { id: ID! text: String } type Query { noteHistory(id: ID!): [String!] }`,
		"a field that a service is": `type Note @resource { id: ID! text: String } type Query { noteHistory(id: ID!): JSON @busRequest(subject: "x.{{ args.id }}") }`,
	} {
		m := load(t, text)
		if root := m.Root("Query", "noteHistory"); root != nil && root.Kind == schema.RootHistory {
			t.Errorf("%s: %+v", name, root)
		}
		if strings.Contains(m.SDL, "NoteHistoryEntry") {
			t.Errorf("%s: the contract has types that nothing has", name)
		}
	}
}

func TestAHistoryDeclaredByHandHasItsOwnRule(t *testing.T) {
	t.Parallel()
	const note = `type Note @resource { id: ID! text: String } `
	m := load(t, note+`type Query { noteHistory(id: ID!): NoteHistoryPage @auth(requires: [SERVICE, ADMIN]) }`)
	if root := m.Root("Query", "noteHistory"); root == nil || root.Rule.Roles != schema.Service|schema.Admin {
		t.Errorf("%+v", root)
	}
	m = load(t, note+`type Query { noteHistory(id: ID!): NoteHistoryPage! }`)
	if root := m.Root("Query", "noteHistory"); root == nil || root.Rule.Roles != schema.Admin || !strings.Contains(m.SDL, "NoteHistoryPage! @auth(requires: [ADMIN])") {
		t.Errorf("%+v", root)
	}
}

func TestAResourceSaysHowMuchHistoryItHas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{``: 0, `(history: 1)`: 1, `(history: 12, onSlow: LATEST)`: 12, `(history: null)`: 0} {
		if got := load(t, `type Note @resource`+text+` { id: ID! text: String }`).Resource("Note").History; got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}

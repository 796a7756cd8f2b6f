package soap_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/bus/bustest"
	"tidings/internal/proc/proctest"
	"tidings/schema"
	"tidings/soap"
)

// What can hold itself has no place in XML; an operation that must be given it
// could not be called.
func TestOperationsThatNobodyCouldCallAreLeftOut(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(`
		type Query { tree(root: Node!): Int  forest(of: Grove!): Int  some(root: Node, n: Int): Int  free(root: Free!): Int  optional(in: Holder!): Int }
		input Node { name: String! children: [Node!]! }
		input Grove { first: Node! }
		input Free { name: String! children: [Free!] more: [Free!]! = [] }
		input Holder { node: Node  name: String! }
	`)}})
	if err != nil {
		t.Fatal(err)
	}
	documents, err := soap.Documents(m)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, document := range documents {
		names = append(names, name)
		if strings.Contains(document, "root: $root") && name != "GetFree" {
			t.Errorf("%s asks for what nobody can give: %s", name, document)
		}
	}
	slices.Sort(names)
	if want := []string{"GetFree", "GetOptional", "GetSome"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	var log proctest.Log
	if _, err := soap.NewGateway(bustest.New(t), m, soap.Options{Address: "http://localhost", Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "tree: Node.children: [Node!]! leads back to Node") || !strings.Contains(log.String(), "forest: Node.children") {
		t.Errorf("the log says %s", log.String())
	}
}

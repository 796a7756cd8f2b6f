package console_test

import (
	"testing"

	"tidings/schema"
)

// Who names a registered operation instead of sending it is shown, and found, with
// the text all the same.
func TestTheTextOfARegisteredOperationIsShown(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	ada := connect(t, p.public, token(t, "ada", schema.User))
	ada.send(`{"id":"1","type":"subscribe","payload":{"documentId":"watch"}}`)
	operator := connect(t, p.admin+"/console/graphql", token(t, "root", schema.Admin))
	operator.subscribe("1", `subscription { operations(search: "POSTchanged") { nodes { document } } }`, nil)
	type found struct {
		Operations struct{ Nodes []struct{ Document string } }
	}
	seen := until(operator, func(f found) bool { return len(f.Operations.Nodes) == 1 })
	if text := seen.Operations.Nodes[0].Document; text != "subscription Watch { postChanged { kind } }" {
		t.Errorf("got %s", text)
	}
}

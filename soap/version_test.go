package soap_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"tidings/resource/resourcetest"
	"tidings/soap"
)

const shelf = `
type Shelf @resource @auth(requires: [ANYONE]) {
  id: ID!
  name: String!
  version: Int! @version
}
type Book @resource @auth(requires: [ANYONE]) {
  id: ID!
  shelfId: ID!
  shelf: Shelf @belongsTo(field: "shelfId", onDelete: RESTRICT)
}
`

func TestAVersionThatIsExpectedAndNotThereIsToldInTheFault(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(shelf)}})
	o := soap.Options{TrustTransport: true, Address: "http://localhost"}
	serve(t, s, o)
	await(t, s)
	w := &world{Service: s, url: edge(t, s, o)}
	call := func(operation, input string) string {
		t.Helper()
		_, body := w.post(t, map[string][]string{"Content-Type": {"text/xml"}},
			`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService"><s:Body><t:`+operation+`>`+input+`</t:`+operation+`></s:Body></s:Envelope>`)
		return body
	}
	created := call("CreateShelf", `<t:input><t:name>a</t:name></t:input>`)
	_, id, _ := strings.Cut(created, "<tns:id>")
	id, _, _ = strings.Cut(id, "<")
	update := `<t:input><t:id>` + id + `</t:id><t:name>b</t:name><t:expectedVersion>VERSION</t:expectedVersion></t:input>`
	refused := call("UpdateShelf", strings.Replace(update, "VERSION", "7", 1))
	for _, want := range []string{`<tns:code>CONFLICT</tns:code>`, `it has the version 1, not 7`, `<tns:currentVersion>1</tns:currentVersion>`} {
		if !strings.Contains(refused, want) {
			t.Errorf("want %s in\n%s", want, refused)
		}
	}
	if changed := call("UpdateShelf", strings.Replace(update, "VERSION", "1", 1)); !strings.Contains(changed, `<tns:version>2</tns:version>`) {
		t.Errorf("the version that it has is refused: %s", changed)
	}
	call("CreateBook", `<t:input><t:shelfId>`+id+`</t:shelfId></t:input>`)
	if kept := call("DeleteShelf", `<t:input><t:id>`+id+`</t:id></t:input>`); !strings.Contains(kept, "records refer to it: 1 by Book.shelfId") {
		t.Errorf("a shelf with a book: %s", kept)
	}
}

package soap_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/schema"
	"tidings/soap"
)

var update = flag.Bool("update", false, "write the golden files anew")

func social(t testing.TB) *schema.Model {
	t.Helper()
	m, err := schema.Load(os.DirFS("../examples/social"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var options = soap.Options{Address: "https://api.example.com"}

func TestWSDLOfTheExampleIsTheOneKept(t *testing.T) {
	t.Parallel()
	got, err := soap.WSDL(social(t), options, false)
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/social.wsdl"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the WSDL is no longer %s: the shape of a published version must not change; see the difference, and run go test ./soap -update if it is meant", file)
	}
}

func TestWSDLIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	first, err := soap.WSDL(social(t), options, true)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		again, err := soap.WSDL(social(t), options, true)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, again) {
			t.Fatal("two WSDLs of one schema differ")
		}
	}
}

// What no client stack survived: choice, any, attributes, defaults, imports,
// arrays named ArrayOf, and types that reach themselves.
func TestWSDLHoldsNothingThatBreaksClients(t *testing.T) {
	t.Parallel()
	text, err := soap.WSDL(social(t), options, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"xsd:choice", "xsd:any", "xsd:attribute ", "default=", "xsd:import", "ArrayOf", "abstract=", "substitutionGroup", "xsd:ID", "soap:header"} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("the WSDL has %s", bad)
		}
	}
	uses := typeUses(t, text)
	for name := range uses {
		if reaches(uses, name, name, map[string]bool{}) {
			t.Errorf("the type %s reaches itself", name)
		}
	}
	if len(uses) < 10 {
		t.Errorf("only %d types were seen", len(uses))
	}
}

// typeUses lists, for each complex type, the types of its elements.
func typeUses(t *testing.T, text []byte) map[string][]string {
	t.Helper()
	uses, current := map[string][]string{}, ""
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return uses
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attrs := map[string]string{}
		for _, a := range start.Attr {
			attrs[a.Name.Local] = a.Value
		}
		switch start.Name.Local {
		case "complexType", "simpleType":
			current = attrs["name"]
		case "element":
			if typ, ok := strings.CutPrefix(attrs["type"], "tns:"); ok && current != "" {
				uses[current] = append(uses[current], typ)
			}
		}
	}
}

func reaches(uses map[string][]string, from, to string, seen map[string]bool) bool {
	for _, next := range uses[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if reaches(uses, next, to, seen) {
				return true
			}
		}
	}
	return false
}

func TestNamesThatWouldCollideAreRefused(t *testing.T) {
	t.Parallel()
	// Each is refused with both of what would have one name.
	cases := map[string]struct{ sdl, first, second string }{
		"type like an operation": {"type Page @resource { id: ID! name: String }\n type GetPage @resource { id: ID! name: String }", "operation GetPage", "type GetPage"},
		"type like an answer":    {"type Page @resource { id: ID! name: String }\n type GetPageResponse @resource { id: ID! name: String }", "answer of GetPage", "type GetPageResponse"},
		"type like the fault":    {"type ServiceFault @resource { id: ID! name: String }", "fault", "type ServiceFault"},
		"type like a summary":    {"type Page @resource { id: ID! nextId: ID @index next: Page @belongsTo(field: \"nextId\") }\n type PageSummary @resource { id: ID! name: String }", "summary of Page", "type PageSummary"},
		"type like a list":       {"type Page @resource { id: ID! name: String }\n type PageList @resource { id: ID! name: String }", "list of", "type PageList"},
		"two spellings":          {"type Page @resource { id: ID! kind: PAGE }\n enum PAGE { A }", "PAGE", "Page"},
		"two spellings of field": {"type Page @resource { id: ID! name: String Name: String }", "name", "two spellings"},
		"begins with xml":        {"type XmlPage @resource { id: ID! name: String }", "XmlPage", "xml"},
		"own fieldsToNull":       {"type Page @resource { id: ID! fieldsToNull: String }", "fieldsToNull", "twice"},
	}
	for what, c := range cases {
		m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(c.sdl)}})
		if err != nil {
			t.Errorf("%s: the schema itself is refused: %v", what, err)
			continue
		}
		_, err = soap.WSDL(m, options, false)
		if err == nil || !strings.Contains(err.Error(), c.first) || !strings.Contains(err.Error(), c.second) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

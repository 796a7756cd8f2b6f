package soap_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tidings/schema"
	"tidings/soap"
)

// The rules of WS-I Basic Profile 1.1 (and of the Simple SOAP Binding Profile)
// that speak of descriptions. Those that are not here speak of messages.
var profile = map[string]func(text []byte, d *node) []string{
	"R4002 R4003 UTF-8 is declared": func(text []byte, _ *node) []string {
		return unless(bytes.HasPrefix(text, []byte(`<?xml version="1.0" encoding="UTF-8"?>`)), "the declaration is %.60s", text)
	},
	"R4004 XML 1.0": func(text []byte, _ *node) []string {
		return unless(bytes.HasPrefix(text, []byte(`<?xml version="1.0"`)), "another version of XML")
	},
	"R2001 R2002 R2003 R2004 R2007 R2008 nothing is imported": func(_ []byte, d *node) (bad []string) {
		for n := range d.all("*", "import") {
			bad = append(bad, "import in "+n.parent.Local)
		}
		return bad
	},
	"R2028 R2029 R2022 R2023 the parts of WSDL 1.1, in their order": func(_ []byte, d *node) (bad []string) {
		order := []string{"documentation", "types", "message", "portType", "binding", "service"}
		last := 0
		for _, n := range d.children {
			i := slices.Index(order, n.Local)
			if n.Space != nsWSDL || i < last {
				bad = append(bad, n.Local+" stands out of order")
			}
			last = max(i, last)
		}
		return bad
	},
	"R2030 documentation comes first in what it describes": func(_ []byte, d *node) (bad []string) {
		for n := range d.all(nsWSDL, "documentation") {
			if n.parent.children[0] != n {
				bad = append(bad, "documentation inside of "+n.parent.Local)
			}
		}
		return bad
	},
	"R2026 R2747 no extension is required": func(text []byte, _ *node) []string {
		return unless(!bytes.Contains(text, []byte("wsdl:required")), "wsdl:required")
	},
	"R2102 references are to the description itself, or to XML Schema": func(_ []byte, d *node) (bad []string) {
		known := declarations(d)
		for n := range d.all("*", "*") {
			for _, attr := range []string{"type", "element", "base", "message", "binding"} {
				if !n.has(attr) {
					continue
				}
				name := n.qname(n.attr(attr))
				if name.Space != d.attr("targetNamespace") && name.Space != nsXSD {
					bad = append(bad, n.Local+" refers to "+n.attr(attr))
				}
				if name.Space == d.attr("targetNamespace") && !declared(known, attr, n, name) {
					bad = append(bad, n.Local+" refers to "+n.attr(attr)+", which is not declared")
				}
			}
		}
		return bad
	},
	"R2105 R2114 the schema has the target namespace of the description": func(_ []byte, d *node) (bad []string) {
		for n := range d.all(nsXSD, "schema") {
			bad = append(bad, unless(n.attr("targetNamespace") == d.attr("targetNamespace") && n.attr("targetNamespace") != "", "schema of %q", n.attr("targetNamespace"))...)
		}
		return bad
	},
	"R2110 R2111 R2112 R2113 no arrays of SOAP encoding": func(text []byte, d *node) (bad []string) {
		bad = unless(!bytes.Contains(text, []byte("http://schemas.xmlsoap.org/soap/encoding/")) && !bytes.Contains(text, []byte("arrayType")), "SOAP encoding")
		for n := range d.all(nsXSD, "*") {
			if strings.HasPrefix(n.attr("name"), "ArrayOf") {
				bad = append(bad, n.attr("name"))
			}
		}
		return bad
	},
	"R2201 R2204 R2206 R2210 R2306 a message has one part, by a global element": func(_ []byte, d *node) (bad []string) {
		for _, m := range d.named(nsWSDL, "message") {
			parts := m.named(nsWSDL, "part")
			if len(parts) != 1 || !parts[0].has("element") || parts[0].has("type") {
				bad = append(bad, m.attr("name"))
			}
		}
		return bad
	},
	"R2303 R2714 requests that are answered": func(_ []byte, d *node) (bad []string) {
		for _, op := range operationsOf(d, "portType") {
			if names := childNames(op, "documentation"); !slices.Equal(names, []string{"input", "output", "fault"}) {
				bad = append(bad, op.attr("name")+fmt.Sprint(names))
			}
		}
		return bad
	},
	"R2304 operations have names of their own": func(_ []byte, d *node) (bad []string) {
		seen := map[string]bool{}
		for _, op := range operationsOf(d, "portType") {
			if seen[op.attr("name")] {
				bad = append(bad, op.attr("name"))
			}
			seen[op.attr("name")] = true
		}
		return bad
	},
	"R2401 R2701 R2702 bindings are for SOAP over HTTP": func(_ []byte, d *node) (bad []string) {
		for _, b := range d.named(nsWSDL, "binding") {
			n := b.children[0]
			if (n.Space != nsSOAP && n.Space != nsSOAP12) || n.Local != "binding" || n.attr("transport") != "http://schemas.xmlsoap.org/soap/http" {
				bad = append(bad, b.attr("name"))
			}
		}
		return bad
	},
	"R2705 R2706 R2707 R2723 document style, literal": func(_ []byte, d *node) (bad []string) {
		for _, b := range d.named(nsWSDL, "binding") {
			for n := range b.all("*", "*") {
				if n.has("style") && n.attr("style") != "document" || n.has("use") && n.attr("use") != "literal" {
					bad = append(bad, n.Local)
				}
			}
		}
		return bad
	},
	"R2710 each operation has a body of its own": func(_ []byte, d *node) (bad []string) {
		seen, messages := map[string]bool{}, map[string]string{}
		for _, m := range d.named(nsWSDL, "message") {
			messages[m.attr("name")] = m.children[0].attr("element")
		}
		for _, op := range operationsOf(d, "portType") {
			element := messages[op.qname(op.named(nsWSDL, "input")[0].attr("message")).Local]
			if element == "" || seen[element] {
				bad = append(bad, op.attr("name"))
			}
			seen[element] = true
		}
		return bad
	},
	"R2711 ports have addresses of their own": func(_ []byte, d *node) (bad []string) {
		seen := map[string]bool{}
		for n := range d.all(nsSOAP, "address") { // SOAP 1.2 is beyond the profile
			if seen[n.attr("location")] {
				bad = append(bad, n.attr("location"))
			}
			seen[n.attr("location")] = true
		}
		return bad
	},
	"R2716 R2726 no namespace on bodies and faults": func(_ []byte, d *node) (bad []string) {
		for n := range d.all(nsSOAP, "*") {
			if n.has("namespace") {
				bad = append(bad, n.Local)
			}
		}
		return bad
	},
	"R2718 a binding has the operations of its port type": func(_ []byte, d *node) (bad []string) {
		want := names(operationsOf(d, "portType"))
		for _, b := range d.named(nsWSDL, "binding") {
			bad = append(bad, unless(slices.Equal(want, names(b.named(nsWSDL, "operation"))), "%s has others", b.attr("name"))...)
		}
		return bad
	},
	"R2720 R2738 no headers are declared, since declared ones must be sent": func(_ []byte, d *node) (bad []string) {
		for n := range d.all("*", "header") {
			bad = append(bad, n.Local)
		}
		return bad
	},
	"R2721 R2722 R2754 R2740 faults are bound by their names": func(_ []byte, d *node) (bad []string) {
		for _, op := range operationsOf(d, "binding") {
			for _, f := range op.named(nsWSDL, "fault") {
				if len(f.children) != 1 || f.children[0].Local != "fault" || f.children[0].attr("name") != f.attr("name") || f.attr("name") == "" {
					bad = append(bad, op.attr("name"))
				}
			}
		}
		return bad
	},
	"R2744 R2745 each operation says its SOAPAction": func(_ []byte, d *node) (bad []string) {
		for _, op := range operationsOf(d, "binding") {
			if want := d.attr("targetNamespace") + "/" + op.attr("name"); op.children[0].attr("soapAction") != want {
				bad = append(bad, op.attr("name"))
			}
		}
		return bad
	},
	"R2800 R2801 XML Schema 1.0, with nothing that clients lack": func(_ []byte, d *node) (bad []string) {
		known := []string{"schema", "annotation", "documentation", "appinfo", "element", "complexType", "sequence", "simpleType", "restriction", "enumeration", "minInclusive", "maxLength", "length"}
		for n := range d.all(nsXSD, "*") {
			if !slices.Contains(known, n.Local) || n.has("default") || n.has("fixed") || n.has("abstract") {
				bad = append(bad, n.Local+" "+n.attr("name"))
			}
		}
		return bad
	},
	"names are NCNames that no generator trips over": func(_ []byte, d *node) (bad []string) {
		seen := map[string]bool{}
		for schema := range d.all(nsXSD, "schema") {
			for _, n := range schema.children {
				key := strings.ToLower(n.attr("name"))
				if n.Local == "annotation" || key == "servicefault" {
					continue
				}
				if seen[key] || strings.HasPrefix(key, "xml") || key == "" {
					bad = append(bad, n.attr("name"))
				}
				seen[key] = true
			}
		}
		return bad
	},
	"no type reaches itself": func(text []byte, d *node) (bad []string) {
		uses := map[string][]string{}
		for schema := range d.all(nsXSD, "schema") {
			for _, typ := range schema.children {
				for n := range typ.all(nsXSD, "element") {
					uses[typ.attr("name")] = append(uses[typ.attr("name")], n.qname(n.attr("type")).Local)
				}
			}
		}
		for name := range uses {
			if reaches(uses, name, name, map[string]bool{}) && name != "ServiceFault" {
				bad = append(bad, name)
			}
		}
		return bad
	},
}

func unless(ok bool, format string, args ...any) []string {
	if ok {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}

func names(list []*node) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.attr("name")
	}
	return out
}

func childNames(n *node, but string) []string {
	var out []string
	for _, child := range n.children {
		if child.Local != but {
			out = append(out, child.Local)
		}
	}
	return out
}

func operationsOf(d *node, kind string) []*node {
	var list []*node
	for _, n := range d.named(nsWSDL, kind) {
		list = append(list, n.named(nsWSDL, "operation")...)
	}
	return list
}

// declarations are what a description declares, by namespace, kind and name.
func declarations(d *node) map[string]bool {
	known := map[string]bool{}
	for _, n := range d.children {
		known[n.Space+" "+n.Local+" "+n.attr("name")] = true
		for schema := range n.all(nsXSD, "schema") {
			for _, n := range schema.children {
				known[n.Space+" "+n.Local+" "+n.attr("name")] = true
			}
		}
	}
	return known
}

// declared reports whether what an attribute refers to is in the description.
func declared(known map[string]bool, attr string, from *node, name xml.Name) bool {
	space, locals := nsXSD, []string{"complexType", "simpleType"}
	switch {
	case attr == "element":
		locals = []string{"element"}
	case attr == "message":
		space, locals = nsWSDL, []string{"message"}
	case attr == "binding":
		space, locals = nsWSDL, []string{"binding"}
	case attr == "type" && from.Space == nsWSDL:
		space, locals = nsWSDL, []string{"portType"}
	}
	return slices.ContainsFunc(locals, func(local string) bool { return known[space+" "+local+" "+name.Local] })
}

func TestDescriptionsFollowTheBasicProfile(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"../examples/social", "../examples/telemetry", "testdata/museum"} {
		m, err := schema.Load(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, twelve := range []bool{false, true} {
			text, err := soap.WSDL(m, options, twelve)
			if err != nil {
				t.Fatal(err)
			}
			checkProfile(t, fmt.Sprint(dir, twelve), text)
		}
	}
}

func checkProfile(t *testing.T, what string, text []byte) {
	t.Helper()
	d := parseXML(t, text)
	for rule, check := range profile {
		for _, bad := range check(text, d) {
			t.Errorf("%s: %s: %s", what, rule, bad)
		}
	}
}

// A check that never fails is none: each kind of mistake is found.
func TestTheProfileFindsMistakes(t *testing.T) {
	t.Parallel()
	text, err := soap.WSDL(social(t), options, false)
	if err != nil {
		t.Fatal(err)
	}
	for rule, change := range map[string][2]string{
		"R2102": {`type="tns:UserSummary"`, `type="tns:Nobody"`},
		"R2105": {`<xsd:schema targetNamespace="urn:tidings`, `<xsd:schema targetNamespace="urn:others`},
		"R2201": {`<wsdl:part name="parameters" element="tns:GetUser"/>`, `<wsdl:part name="parameters" type="tns:User"/>`},
		"R2303": {`<wsdl:input message="tns:GetUserRequest"/>`, ``},
		"R2304": {`<wsdl:operation name="GetUser">`, `<wsdl:operation name="GetPost">`},
		"R2401": {`transport="http://schemas.xmlsoap.org/soap/http"`, `transport="urn:smtp"`},
		"R2705": {`use="literal"`, `use="encoded"`},
		"R2721": {`<soap:fault name="ServiceFault"`, `<soap:fault name="Fault"`},
		"R2744": {`soapAction="urn:tidings:v1:SocialService/GetUser"`, `soapAction=""`},
		"R2800": {`<xsd:sequence>`, `<xsd:choice/><xsd:sequence>`},
		"R2112": {`name="StringList"`, `name="ArrayOfString"`},
		"names": {`complexType name="UserSummary"`, `complexType name="GETUSER"`},
		"itsel": {`name="follower" type="tns:UserSummary"`, `name="follower" type="tns:Follow"`},
	} {
		wrong := bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(wrong, text) {
			t.Errorf("%s: there is no %s to change", rule, change[0])
			continue
		}
		d, found := parseXML(t, wrong), false
		for name, check := range profile {
			found = found || strings.Contains(name, rule) && len(check(wrong, d)) > 0
		}
		if !found {
			t.Errorf("%s: %s in place of %s is not found", rule, change[1], change[0])
		}
	}
}

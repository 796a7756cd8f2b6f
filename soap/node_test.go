package soap_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	nsWSDL   = "http://schemas.xmlsoap.org/wsdl/"
	nsSOAP   = "http://schemas.xmlsoap.org/wsdl/soap/"
	nsSOAP12 = "http://schemas.xmlsoap.org/wsdl/soap12/"
	nsXSD    = "http://www.w3.org/2001/XMLSchema"
	nsXSI    = "http://www.w3.org/2001/XMLSchema-instance"
)

// node is an element as another parser than ours reads it.
type node struct {
	xml.Name
	attrs    []xml.Attr
	children []*node
	text     string
	prefixes map[string]string // in scope
	parent   *node
}

func parseXML(t testing.TB, text []byte) *node {
	t.Helper()
	root := &node{prefixes: map[string]string{}}
	at := root
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && at == root && len(root.children) == 1 {
			return root.children[0]
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{Name: token.Name, attrs: token.Attr, parent: at, prefixes: map[string]string{}}
			for prefix, ns := range at.prefixes {
				n.prefixes[prefix] = ns
			}
			for _, a := range token.Attr {
				if a.Name.Space == "xmlns" {
					n.prefixes[a.Name.Local] = a.Value
				}
			}
			at.children = append(at.children, n)
			at = n
		case xml.EndElement:
			at = at.parent
		case xml.CharData:
			at.text += string(token)
		}
	}
}

func (n *node) attr(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

func (n *node) has(name string) bool {
	for _, a := range n.attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return true
		}
	}
	return false
}

// all yields the element and those below it that have the name; "*" is any.
func (n *node) all(space, local string) iter.Seq[*node] {
	return func(yield func(*node) bool) { n.walk(space, local, yield) }
}

func (n *node) walk(space, local string, yield func(*node) bool) bool {
	if (n.Space == space || space == "*") && (n.Local == local || local == "*") && !yield(n) {
		return false
	}
	for _, child := range n.children {
		if !child.walk(space, local, yield) {
			return false
		}
	}
	return true
}

// named returns the children of a name.
func (n *node) named(space, local string) []*node {
	var list []*node
	for _, child := range n.children {
		if child.Space == space && child.Local == local {
			list = append(list, child)
		}
	}
	return list
}

// qname resolves a value such as tns:User.
func (n *node) qname(value string) xml.Name {
	prefix, local, ok := strings.Cut(value, ":")
	if !ok {
		return xml.Name{Local: value}
	}
	return xml.Name{Space: n.prefixes[prefix], Local: local}
}

// xsdSet is the schema of a WSDL, as far as ours are written.
type xsdSet struct {
	namespace string
	types     map[string]*node // by name
	elements  map[string]*node // global, by name
}

func schemaOf(t testing.TB, wsdl []byte) *xsdSet {
	t.Helper()
	s := &xsdSet{types: map[string]*node{}, elements: map[string]*node{}}
	for schema := range parseXML(t, wsdl).all(nsXSD, "schema") {
		s.namespace = schema.attr("targetNamespace")
		for _, n := range schema.children {
			switch n.Local {
			case "element":
				s.elements[n.attr("name")] = n
			case "complexType", "simpleType":
				s.types[n.attr("name")] = n
			}
		}
	}
	return s
}

// validate says why an element is not as its declaration wants it, in order and
// nothing besides: what a strict client does.
func (s *xsdSet) validate(e, declaration *node) error {
	if isNil(e) {
		if declaration.attr("nillable") != "true" || len(e.children) > 0 || e.text != "" {
			return fmt.Errorf("%s is nil", e.Local)
		}
		return nil
	}
	for _, child := range declaration.children {
		if child.Local == "complexType" {
			return s.complex(e, child)
		}
	}
	name := declaration.qname(declaration.attr("type"))
	if name.Space == nsXSD {
		return builtIn(e, name.Local)
	}
	typ := s.types[name.Local]
	switch {
	case typ == nil:
		return fmt.Errorf("%s has the type %s, which is not declared", e.Local, name.Local)
	case typ.Local == "simpleType":
		return s.simple(e, typ)
	}
	return s.complex(e, typ)
}

func isNil(e *node) bool {
	for _, a := range e.attrs {
		if a.Name.Space == nsXSI && a.Name.Local == "nil" && a.Value == "true" {
			return true
		}
	}
	return false
}

func (s *xsdSet) complex(e, typ *node) error {
	if strings.TrimSpace(e.text) != "" {
		return fmt.Errorf("%s holds text", e.Local)
	}
	children := e.children
	for _, want := range typ.named(nsXSD, "sequence")[0].named(nsXSD, "element") {
		n := 0
		for len(children) > 0 && children[0].Local == want.attr("name") && (n == 0 || want.attr("maxOccurs") == "unbounded") {
			if children[0].Space != s.namespace {
				return fmt.Errorf("%s is in the namespace %q", children[0].Local, children[0].Space)
			}
			if err := s.validate(children[0], want); err != nil {
				return fmt.Errorf("%s: %w", e.Local, err)
			}
			children, n = children[1:], n+1
		}
		if n == 0 && want.attr("minOccurs") != "0" {
			return fmt.Errorf("%s lacks %s", e.Local, want.attr("name"))
		}
	}
	if len(children) > 0 {
		return fmt.Errorf("%s has %s, which is not declared there", e.Local, children[0].Local)
	}
	return nil
}

func (s *xsdSet) simple(e, typ *node) error {
	restriction := typ.named(nsXSD, "restriction")[0]
	if err := builtIn(e, restriction.qname(restriction.attr("base")).Local); err != nil {
		return err
	}
	values := restriction.named(nsXSD, "enumeration")
	for _, value := range values {
		if value.attr("value") == e.text {
			return nil
		}
	}
	if len(values) > 0 {
		return fmt.Errorf("%s is %q, no value of %s", e.Local, e.text, typ.attr("name"))
	}
	return nil
}

var lexical = map[string]*regexp.Regexp{
	"double":   regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`),
	"decimal":  regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)$`),
	"boolean":  regexp.MustCompile(`^(true|false)$`),
	"dateTime": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`),
	"time":     regexp.MustCompile(`^\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$`),
}

func builtIn(e *node, typ string) error {
	if len(e.children) > 0 {
		return fmt.Errorf("%s holds elements", e.Local)
	}
	var err error
	switch typ {
	case "string", "base64Binary":
	case "int":
		_, err = strconv.ParseInt(e.text, 10, 32)
	case "long":
		_, err = strconv.ParseInt(e.text, 10, 64)
	case "date":
		_, err = time.Parse(time.DateOnly, e.text)
	default:
		if lexical[typ] == nil || !lexical[typ].MatchString(e.text) {
			err = fmt.Errorf("%q is no xsd:%s", e.text, typ)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Local, err)
	}
	return nil
}

// validAnswer reports an envelope whose body is not what the WSDL says of it.
func (s *xsdSet) validAnswer(t testing.TB, envelope []byte) {
	t.Helper()
	for _, child := range parseXML(t, envelope).children {
		if child.Local != "Body" {
			continue
		}
		if len(child.children) != 1 {
			t.Fatalf("the body holds %d elements", len(child.children))
		}
		payload := child.children[0]
		declaration := s.elements[payload.Local]
		if declaration == nil {
			t.Errorf("the element %s is not declared", payload.Local)
			return
		}
		if err := s.validate(payload, declaration); err != nil {
			t.Errorf("%v in\n%s", err, envelope)
		}
	}
}

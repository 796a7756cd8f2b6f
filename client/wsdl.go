package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tidings/xmltree"
)

const (
	spaceWSDL = "http://schemas.xmlsoap.org/wsdl/"
	spaceXSD  = "http://www.w3.org/2001/XMLSchema"
)

// Contract is what a WSDL of a service says of its operations, as far as a call needs
// it: which elements in which order. It does not change.
type Contract struct {
	Namespace string
	types     map[string][]part // complex types by name
	elements  map[string][]part // operations, and their responses, by name
}

// part is an element of a sequence.
type part struct {
	name     string
	kind     string // the local name of its type
	builtin  bool   // of XML Schema
	optional bool
	nillable bool
	many     bool
}

// soapPath matches the addresses in what a service says of paths that it does not have.
var soapPath = regexp.MustCompile(`(?m)^  \S+?(/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+) \(([A-Za-z0-9_.-]+)[,;]`)

// Endpoint finds where SOAP is called at the service behind a URL: the newest version
// that is not still being made, or the one that is named.
func (s *Service) Endpoint(ctx context.Context, version string) (string, error) {
	base, err := url.Parse(s.URL)
	if err != nil {
		return "", err
	}
	base.Path, base.RawQuery = "/tidings/nothing", ""
	text, status, err := s.get(ctx, base.String())
	if err != nil {
		return "", err
	}
	found := ""
	for _, m := range soapPath.FindAllStringSubmatch(text, -1) {
		if m[2] == version || version == "" && (found == "" || !strings.Contains(text, m[2]+", still being made")) {
			found = m[1]
		}
	}
	switch {
	case found != "":
		base.Path = found
		return base.String(), nil
	case version != "" && soapPath.MatchString(text):
		return "", fmt.Errorf("there is no version %s:\n%s", version, strings.TrimSpace(text))
	}
	return "", fmt.Errorf("%s does not say where SOAP is called (%d): is this the address of a service", base.Host, status)
}

// WSDL returns the WSDL of an endpoint, for SOAP 1.1, or with twelve for 1.2.
func (s *Service) WSDL(ctx context.Context, endpoint string, twelve bool) (string, error) {
	query := "?wsdl"
	if twelve {
		query = "?wsdl&soap=1.2"
	}
	text, status, err := s.get(ctx, endpoint+query)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", shown(endpoint), status, excerpt([]byte(text)))
	}
	return text, err
}

func (s *Service) get(ctx context.Context, url string) (text string, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", 0, err
	}
	resp, err := s.client().Do(r)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	return string(body), resp.StatusCode, err
}

// ParseContract reads a WSDL as the service prints it: document/literal, wrapped, all
// types in one schema.
func ParseContract(wsdl string) (*Contract, error) {
	tree, err := xmltree.ScanWithin([]byte(wsdl), "", maxMessage)
	if err != nil {
		return nil, fmt.Errorf("the WSDL cannot be read: %w", err)
	}
	root := tree.Root()
	c := &Contract{types: map[string][]part{}, elements: map[string][]part{}}
	c.Namespace, _ = root.Attr("", "targetNamespace")
	schema := child(child(root, spaceWSDL, "types"), spaceXSD, "schema")
	if !schema.Exists() || c.Namespace == "" {
		return nil, errors.New("this is no WSDL with a schema in it")
	}
	for e := range schema.Children() {
		name, _ := e.Attr("", "name")
		switch {
		case e.Is(spaceXSD, "complexType"):
			c.types[name] = sequence(e)
		case e.Is(spaceXSD, "element"):
			c.elements[name] = sequence(child(e, spaceXSD, "complexType"))
		}
	}
	return c, nil
}

// Operations are the names of what can be called, in order.
func (c *Contract) Operations() (names []string) {
	for name := range maps.Keys(c.elements) {
		if _, ok := c.elements[name+"Response"]; ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Parts are the names of what an operation takes, in order.
func (c *Contract) Parts(operation string) []string { return namesOf(c.elements[operation]) }

func namesOf(parts []part) (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

func child(e xmltree.Elem, space, name string) xmltree.Elem {
	if e.Exists() {
		for c := range e.Children() {
			if c.Is(space, name) {
				return c
			}
		}
	}
	return xmltree.Elem{}
}

// sequence are the elements of a complex type.
func sequence(e xmltree.Elem) (parts []part) {
	list := child(e, spaceXSD, "sequence")
	if !list.Exists() {
		return nil
	}
	for c := range list.Children() {
		if !c.Is(spaceXSD, "element") {
			continue
		}
		attr := func(name string) string { v, _ := c.Attr("", name); return v }
		prefix, kind, _ := strings.Cut(attr("type"), ":")
		uri, _ := c.Namespace(prefix)
		parts = append(parts, part{
			name: attr("name"), kind: kind, builtin: uri == spaceXSD,
			optional: attr("minOccurs") == "0", nillable: attr("nillable") == "true",
			many: attr("maxOccurs") == "unbounded",
		})
	}
	return parts
}

// items is the part that a type is a list of.
func (c *Contract) items(p part) (item part, ok bool) {
	parts := c.types[p.kind]
	if p.builtin || len(parts) != 1 || !parts[0].many {
		return part{}, false
	}
	item = parts[0]
	item.many = false
	return item, true
}

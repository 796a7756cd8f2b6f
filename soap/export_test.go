package soap

import "tidings/schema"

// Element is a scanned element as the tests compare it.
type Element struct {
	Space, Local string
	Attrs        map[[2]string]string
	Text         string
	Children     []*Element
}

// Scan runs the scanner and copies its tree.
func Scan(data []byte, charset string) (*Element, error) {
	t, err := scan(data, charset)
	if err != nil {
		return nil, err
	}
	return copyOf(t.root()), nil
}

// ScanOnly runs the scanner alone, for measuring.
func ScanOnly(data []byte) error {
	_, err := scan(data, "")
	return err
}

func copyOf(e elem) *Element {
	out := &Element{Space: e.name().space, Local: e.name().local, Text: e.text(), Attrs: map[[2]string]string{}}
	n := e.tree.nodes[e.at]
	for _, a := range e.tree.attrs[n.attrFrom:n.attrTo] {
		out.Attrs[[2]string{a.name.space, a.name.local}] = a.value
	}
	for c := range e.children() {
		out.Children = append(out.Children, copyOf(c))
	}
	return out
}

// WSDL prints the contract of a schema.
func WSDL(m *schema.Model, o Options, twelve bool) ([]byte, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	location, err := o.location()
	if err != nil {
		return nil, err
	}
	c, err := newContract(m, o)
	if err != nil {
		return nil, err
	}
	return c.wsdl(location, twelve), nil
}

// Document returns the GraphQL document behind an operation.
func Document(m *schema.Model, operation string) (string, error) {
	o, err := Options{}.withDefaults()
	if err != nil {
		return "", err
	}
	c, err := newContract(m, o)
	if err != nil {
		return "", err
	}
	return c.byName[operation].document, nil
}

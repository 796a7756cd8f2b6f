package xmltree_test

import "tidings/xmltree"

// element is a scanned element as the tests compare it.
type element struct {
	Space, Local string
	Attrs        map[[2]string]string
	Text         string
	Children     []*element
}

// scan runs the scanner and copies its tree.
func scan(data []byte, charset string) (*element, error) {
	t, err := xmltree.Scan(data, charset)
	if err != nil {
		return nil, err
	}
	return copyOf(t.Root()), nil
}

func copyOf(e xmltree.Elem) *element {
	out := &element{Space: e.Name().Space, Local: e.Name().Local, Text: e.Text(), Attrs: map[[2]string]string{}}
	for name, value := range e.Attrs() {
		out.Attrs[[2]string{name.Space, name.Local}] = value
	}
	for c := range e.Children() {
		out.Children = append(out.Children, copyOf(c))
	}
	return out
}

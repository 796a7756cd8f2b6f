package soap

import (
	"strconv"
	"strings"

	"tidings/fault"
	"tidings/xmltree"
)

// place is where in the arguments a value stands, linked to what it is part of.
// It becomes text only when it is to blame.
type place struct {
	parent *place
	name   string
	index  int // of a list item; the name is empty then
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	above := p.parent.String()
	switch {
	case p.name == "":
		return above + "[" + strconv.Itoa(p.index) + "]"
	case above == "":
		return p.name
	}
	return above + "." + p.name
}

// decoder turns elements into the JSON of variables. Children may come in any
// order, with or without the namespace, because clients differ there; but none
// may be unknown or come twice.
type decoder struct {
	namespace string
	out       []byte
	places    []place // room for those to come, made for many at a time
	flags     []bool  // the same
}

// inside is the place of the element called name inside of another one.
func (d *decoder) inside(parent *place, name string) *place {
	return d.place(place{parent: parent, name: name})
}

// item is the place of an item inside of a list.
func (d *decoder) item(list *place, index int) *place {
	return d.place(place{parent: list, index: index})
}

func (d *decoder) place(p place) *place {
	if len(d.places) == 0 {
		d.places = make([]place, 16)
	}
	at := &d.places[0]
	d.places = d.places[1:]
	*at = p
	return at
}

// unset returns n flags that are false.
func (d *decoder) unset(n int) []bool {
	if len(d.flags) < n {
		d.flags = make([]bool, max(128, n))
	}
	flags := d.flags[:n:n]
	d.flags = d.flags[n:]
	return flags
}

// variables decodes the payload of an operation.
func (c *contract) variables(op *operation, payload xmltree.Elem) ([]byte, error) {
	d := &decoder{namespace: c.namespace, out: make([]byte, 0, 512)}
	if err := d.object(op.args, payload, nil); err != nil {
		return nil, err
	}
	return d.out, nil
}

func (d *decoder) object(parts []*part, e xmltree.Elem, at *place) error {
	if err := d.checkElement(e, at); err != nil {
		return err
	}
	if !e.Blank() {
		return fault.Input(at.String(), "there is text where elements are expected")
	}
	var clears xmltree.Elem
	seen, given := d.unset(len(parts)), d.unset(len(parts))
	d.out = append(d.out, '{')
	for child := range e.Children() {
		here := d.inside(at, child.Name().Local)
		i := d.find(parts, child)
		if i < 0 {
			return d.unknown(parts, child, here)
		}
		if seen[i] {
			return fault.Input(here.String(), "the element is given twice")
		}
		null, err := d.isNil(child, here)
		seen[i], given[i] = true, !null
		switch {
		case err != nil:
			return err
		case null: // means "not given"
			continue
		case parts[i].clears:
			clears = child
			continue
		case parts[i].aside:
			continue
		}
		d.member(parts[i].member())
		if err := d.value(parts[i].typ, child, here); err != nil {
			return err
		}
	}
	for i, p := range parts {
		if !given[i] && !p.optional {
			return fault.Input(d.inside(at, p.name).String(), "the element is missing")
		}
	}
	if clears.Exists() {
		if err := d.clear(parts, given, clears, at); err != nil {
			return err
		}
	}
	d.out = append(d.out, '}')
	return nil
}

func (d *decoder) member(name string) {
	if last := d.out[len(d.out)-1]; last != '{' {
		d.out = append(d.out, ',')
	}
	d.out = append(append(append(d.out, '"'), name...), `":`...)
}

// find returns the index of the part that e is, -1 for none.
func (d *decoder) find(parts []*part, e xmltree.Elem) int {
	n := e.Name()
	if n.Space != "" && n.Space != d.namespace {
		return -1
	}
	for i, p := range parts {
		if p.name == n.Local {
			return i
		}
	}
	return -1
}

func (d *decoder) isNil(e xmltree.Elem, at *place) (bool, error) {
	value, _ := e.Attr(xsiNS, "nil")
	switch xmltree.Trim(value) {
	case "", "0", "false":
		return false, nil
	case "1", "true":
		if e.HasElements() || e.Text() != "" {
			return false, fault.Input(at.String(), "the element is nil and has a value")
		}
		return true, nil
	}
	return false, fault.Input(at.String(), "xsi:nil is neither true nor false")
}

// unknown says that there is no such element, and which there are.
func (d *decoder) unknown(parts []*part, e xmltree.Elem, at *place) error {
	n := e.Name()
	if n.Space != "" && n.Space != d.namespace {
		return fault.Input(at.String(), "there is no element %.100s of the namespace %.100q here: those of this service are of %q", n.Local, n.Space, d.namespace)
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	if len(names) == 0 || len(names) > 12 {
		return fault.Input(at.String(), "there is no element %.100s here: the WSDL says which there are", n.Local)
	}
	return fault.Input(at.String(), "there is no element %.100s here, but %s", n.Local, strings.Join(names, ", "))
}

// checkElement refuses references between elements, which SOAP 1.1 encoding had.
func (d *decoder) checkElement(e xmltree.Elem, at *place) error {
	if _, ok := e.Attr("", "href"); ok {
		return fault.Input(at.String(), "references to other elements are not supported: write the value in place")
	}
	return nil
}

func (d *decoder) value(t *xsdType, e xmltree.Elem, at *place) error {
	switch t.form {
	case formObject:
		return d.object(t.fields, e, at)
	case formList:
		return d.list(t, e, at)
	}
	if err := d.checkElement(e, at); err != nil {
		return err
	}
	if e.HasElements() {
		return fault.Input(at.String(), "there are elements where a value is expected")
	}
	out, err := t.appendValue(d.out, e.Text())
	switch {
	case err != nil && e.Blank():
		return fault.Input(at.String(), "the element is empty: give it a value, or leave it out where it may be")
	case err != nil:
		return fault.Input(at.String(), "%s", err)
	}
	d.out = out
	return nil
}

func (d *decoder) list(t *xsdType, e xmltree.Elem, at *place) error {
	if err := d.checkElement(e, at); err != nil {
		return err
	}
	if !e.Blank() {
		return fault.Input(at.String(), "the list holds text: put each value into an element %s", t.item.name)
	}
	d.out = append(d.out, '[')
	index := 0
	for child := range e.Children() {
		here := d.item(at, index)
		if d.find([]*part{t.item}, child) < 0 {
			return fault.Input(here.String(), "there is no element %.100s here: the values of a list are called %s", child.Name().Local, t.item.name)
		}
		null, err := d.isNil(child, here)
		if err != nil {
			return err
		}
		if index > 0 {
			d.out = append(d.out, ',')
		}
		index++
		if null {
			d.out = append(d.out, "null"...) // refused by the schema where an item may not be null
			continue
		}
		if err := d.value(t.item.typ, child, here); err != nil {
			return err
		}
	}
	d.out = append(d.out, ']')
	return nil
}

// clear reads the names of fields to set to null.
func (d *decoder) clear(parts []*part, given []bool, e xmltree.Elem, at *place) error {
	here := d.inside(at, clearName)
	names := &decoder{namespace: d.namespace}
	if err := names.list(clearList, e, here); err != nil {
		return err
	}
	for item := range e.Children() {
		field := xmltree.Trim(item.Text())
		i := 0
		for i < len(parts) && parts[i].name != field {
			i++
		}
		switch {
		case i == len(parts) || parts[i].clears || !parts[i].optional:
			return fault.Input(here.String(), "there is no field %.100q that can be cleared", field)
		case given[i]:
			return fault.Input(here.String(), "the field %s is given a value, or cleared, already", field)
		}
		given[i] = true
		d.member(parts[i].member())
		d.out = append(d.out, "null"...)
	}
	return nil
}

var clearList = &xsdType{form: formList, item: &part{name: "item", typ: &xsdType{form: formText}}}

package soap

import (
	"slices"
	"strings"

	"tidings/fault"
	"tidings/xmltree"
)

// decoder turns elements into the JSON of variables. Children may come in any
// order, with or without the namespace, because clients differ there; but none
// may be unknown or come twice.
type decoder struct {
	namespace string
	parts     []*part      // what may stand in top
	top       xmltree.Elem // the element that is read; paths begin inside of it
	out       []byte
}

// mark is what has come of a part.
type mark uint8

const (
	markSeen  mark = 1 << iota // its element, which may be nil
	markGiven                  // a value
)

// variables decodes the payload of an operation.
func (c *contract) variables(op *operation, payload xmltree.Elem) ([]byte, error) {
	from, to := payload.Span()
	out, err := c.decode(op, payload, op.asked.room(64+to-from))
	op.asked.was(len(out))
	return out, err
}

// decode is variables, with room for so many bytes at first.
func (c *contract) decode(op *operation, payload xmltree.Elem, room int) ([]byte, error) {
	d := decoder{namespace: c.namespace, parts: op.args, top: payload, out: make([]byte, 0, room)}
	err := d.object(op.args, payload)
	return d.out, err
}

func (d *decoder) object(parts []*part, e xmltree.Elem) error {
	if err := d.checkElement(e); err != nil {
		return err
	}
	if !e.Blank() {
		return fault.Input(d.where(e), "there is text where elements are expected")
	}
	var few [32]mark // the room for those of most objects
	marks := few[:]
	if len(parts) > len(few) {
		marks = make([]mark, len(parts))
	}
	clears, err := d.members(parts, marks, e)
	if err != nil {
		return err
	}
	for i, p := range parts {
		if marks[i]&markGiven == 0 && !p.optional {
			return fault.Input(d.below(e, p.name), "the element is missing")
		}
	}
	if clears.Exists() {
		if err := d.clear(parts, marks, clears); err != nil {
			return err
		}
	}
	d.out = append(d.out, '}')
	return nil
}

// members writes what is given of the parts of an object, and marks them. It returns
// the element that names those to clear, if there is one.
func (d *decoder) members(parts []*part, marks []mark, e xmltree.Elem) (clears xmltree.Elem, err error) {
	d.out = append(d.out, '{')
	next := 0
	for child := range e.Children() {
		i := d.find(parts, next, child)
		if i < 0 {
			return clears, d.unknown(parts, child)
		}
		next = i + 1
		if marks[i]&markSeen != 0 {
			return clears, fault.Input(d.where(child), "the element is given twice")
		}
		marks[i] = markSeen
		null, err := d.isNil(child)
		switch {
		case err != nil:
			return clears, err
		case null: // means "not given"
			continue
		}
		marks[i] |= markGiven
		switch p := parts[i]; {
		case p.clears:
			clears = child
		case p.aside:
		default:
			d.member(p)
			if err := d.value(p.typ, child); err != nil {
				return clears, err
			}
		}
	}
	return clears, nil
}

func (d *decoder) member(p *part) {
	if last := d.out[len(d.out)-1]; last != '{' {
		d.out = append(d.out, ',')
	}
	d.out = append(d.out, p.asked...)
}

// find returns the index of the part that e is, -1 for none. It looks from next
// on first: most clients write the elements in their order.
func (d *decoder) find(parts []*part, next int, e xmltree.Elem) int {
	if next < len(parts) && e.Is(d.namespace, parts[next].name) {
		return next
	}
	n := e.Name()
	if n.Space != "" && n.Space != d.namespace {
		return -1
	}
	for i := next; i < len(parts); i++ {
		if parts[i].name == n.Local {
			return i
		}
	}
	for i := range min(next, len(parts)) {
		if parts[i].name == n.Local {
			return i
		}
	}
	return -1
}

func (d *decoder) isNil(e xmltree.Elem) (bool, error) {
	value, said := e.Attr(xsiNS, "nil")
	if !said {
		return false, nil
	}
	switch xmltree.Trim(value) {
	case "", "0", "false":
		return false, nil
	case "1", "true":
		if e.HasElements() || e.Text() != "" {
			return false, fault.Input(d.where(e), "the element is nil and has a value")
		}
		return true, nil
	}
	return false, fault.Input(d.where(e), "xsi:nil is neither true nor false")
}

// unknown says that there is no such element, and which there are.
func (d *decoder) unknown(parts []*part, e xmltree.Elem) error {
	n, at := e.Name(), d.where(e)
	if n.Space != "" && n.Space != d.namespace {
		return fault.Input(at, "there is no element %.100s of the namespace %.100q here: those of this service are of %q", n.Local, n.Space, d.namespace)
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	if len(names) == 0 || len(names) > 12 {
		return fault.Input(at, "there is no element %.100s here: the WSDL says which there are", n.Local)
	}
	return fault.Input(at, "there is no element %.100s here, but %s", n.Local, strings.Join(names, ", "))
}

// checkElement refuses references between elements, which SOAP 1.1 encoding had.
func (d *decoder) checkElement(e xmltree.Elem) error {
	if _, ok := e.Attr("", "href"); ok {
		return fault.Input(d.where(e), "references to other elements are not supported: write the value in place")
	}
	return nil
}

func (d *decoder) value(t *xsdType, e xmltree.Elem) error {
	switch t.form {
	case formObject:
		return d.object(t.fields, e)
	case formList:
		return d.list(t, e)
	}
	if err := d.checkElement(e); err != nil {
		return err
	}
	text, leaf := e.Value()
	if !leaf {
		return fault.Input(d.where(e), "there are elements where a value is expected")
	}
	out, err := t.appendValue(d.out, text)
	switch {
	case err != nil && e.Blank():
		return fault.Input(d.where(e), "the element is empty: give it a value, or leave it out where it may be")
	case err != nil:
		return fault.Input(d.where(e), "%s", err)
	}
	d.out = out
	return nil
}

func (d *decoder) list(t *xsdType, e xmltree.Elem) error {
	if err := d.checkElement(e); err != nil {
		return err
	}
	if !e.Blank() {
		return fault.Input(d.where(e), "the list holds text: put each value into an element %s", t.item.name)
	}
	d.out = append(d.out, '[')
	for child := range e.Children() {
		if !d.isItem(t, child) {
			return fault.Input(d.where(child), "there is no element %.100s here: the values of a list are called %s", child.Name().Local, t.item.name)
		}
		null, err := d.isNil(child)
		if err != nil {
			return err
		}
		if d.out[len(d.out)-1] != '[' {
			d.out = append(d.out, ',')
		}
		if null {
			d.out = append(d.out, "null"...) // refused by the schema where an item may not be null
			continue
		}
		if err := d.value(t.item.typ, child); err != nil {
			return err
		}
	}
	d.out = append(d.out, ']')
	return nil
}

// isItem reports whether an element is called as those of a list are.
func (d *decoder) isItem(list *xsdType, e xmltree.Elem) bool {
	n := e.Name()
	return n.Local == list.item.name && (n.Space == "" || n.Space == d.namespace)
}

// clear reads the names of fields to set to null.
func (d *decoder) clear(parts []*part, marks []mark, e xmltree.Elem) error {
	names := *d // whose output nobody needs
	names.out = nil
	if err := names.list(clearList, e); err != nil {
		return err
	}
	for item := range e.Children() {
		field := xmltree.Trim(item.Text())
		i := slices.IndexFunc(parts, func(p *part) bool { return p.name == field })
		switch {
		case i < 0 || parts[i].clears || !parts[i].optional:
			return fault.Input(d.where(e), "there is no field %.100q that can be cleared", field)
		case marks[i]&markGiven != 0:
			return fault.Input(d.where(e), "the field %s is given a value, or cleared, already", field)
		}
		marks[i] |= markGiven
		d.member(parts[i])
		d.out = append(d.out, "null"...)
	}
	return nil
}

var clearList = &xsdType{form: formList, item: &part{name: "item", typ: &xsdType{form: formText}}}

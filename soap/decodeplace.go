package soap

import (
	"strconv"

	"tidings/xmltree"
)

// Where in the arguments a value stands is worked out only when it is to blame.

// where is the path of an element that was read: input.tags[2]. That of the
// decoder's top is empty.
func (d *decoder) where(e xmltree.Elem) string {
	path, _ := d.way(e)
	return path
}

// below is the path of what is missing in an element.
func (d *decoder) below(e xmltree.Elem, name string) string { return join(d.where(e), name) }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// way is the path of an element, and its type if it has one.
func (d *decoder) way(e xmltree.Elem) (path string, t *xsdType) {
	if e == d.top || !e.Exists() {
		return "", &xsdType{form: formObject, fields: d.parts}
	}
	above, around := d.way(e.Parent())
	switch {
	case around != nil && around.form == formList:
		return above + "[" + strconv.Itoa(placeOf(e)) + "]", around.item.typ
	case around != nil && around.form == formObject:
		if i := d.find(around.fields, 0, e); i >= 0 {
			t = around.fields[i].typ
		}
	}
	return join(above, e.Name().Local), t
}

// placeOf is how many elements stand before one, beside it.
func placeOf(e xmltree.Elem) (n int) {
	for other := range e.Parent().Children() {
		if other == e {
			break
		}
		n++
	}
	return n
}

package soap

import (
	"encoding/json"

	"tidings/fault"
	"tidings/xmltree"
)

// batchCall is what the payload of a batch asks for.
type batchCall struct {
	items    []batchItem
	together bool
}

// batchItem is one item of a batch.
type batchItem struct {
	variables []byte // of the operation on one record; nil when err says why
	ref       string
	hasRef    bool
	err       error
}

// readBatch reads the payload of a batch. The error is that of the whole; what is
// wrong with one item is that item's.
func (c *contract) readBatch(op *operation, payload xmltree.Elem) (*batchCall, error) {
	variables, err := c.decode(op, payload, 0)
	if err != nil {
		return nil, err
	}
	var asked struct{ AllOrNone bool }
	if err := json.Unmarshal(variables, &asked); err != nil {
		return nil, err // it was written a moment ago
	}
	call := &batchCall{together: asked.AllOrNone}
	for child := range payload.Children() {
		if child.Name().Local == inputsName { // there is one: object says so
			return call, c.readItems(op, child, call)
		}
	}
	return call, nil
}

func (c *contract) readItems(op *operation, inputs xmltree.Elem, call *batchCall) error {
	d := &decoder{namespace: c.namespace, parts: op.args, top: inputs.Parent()}
	list := op.args[0].typ
	if err := d.checkElement(inputs); err != nil {
		return err
	}
	if !inputs.Blank() {
		return fault.Input(inputsName, "the list holds text: put each item into an element %s", list.item.name)
	}
	for child := range inputs.Children() {
		if !d.isItem(list, child) {
			return fault.Input(d.where(child), "there is no element %.100s here: the items of a batch are called %s", child.Name().Local, list.item.name)
		}
		if len(call.items) == maxItems {
			return fault.Input(inputsName, "a batch takes at most %d items: send them in several calls", maxItems)
		}
		call.items = append(call.items, c.readItem(op, child))
	}
	return nil
}

// readItem reads one item. Its paths begin at the item.
func (c *contract) readItem(op *operation, e xmltree.Elem) (item batchItem) {
	parts := op.args[0].typ.item.typ.fields
	d := &decoder{namespace: c.namespace, parts: parts, top: e, out: make([]byte, 0, 256)}
	for child := range e.Children() {
		if i := d.find(parts, 0, child); i < 0 || parts[i].name != refName || !parts[i].aside {
			continue
		}
		if null, err := d.isNil(child); null || err != nil {
			item.err = err
			continue
		}
		item.ref, item.hasRef = child.Text(), true
		if child.HasElements() || len(item.ref) > maxRef {
			item.ref, item.hasRef = "", false
			item.err = fault.Input(refName, "a clientRef is a text of at most %d bytes", maxRef)
		}
	}
	if null, err := d.isNil(e); null || err != nil {
		if item.err = err; err == nil {
			item.err = fault.Input("", "the item is nil")
		}
		return item
	}
	if item.err != nil {
		return item
	}
	d.out = append(append(append(d.out, `{"`...), op.one.args[0].name...), `":`...)
	if item.err = d.object(parts, e); item.err == nil {
		item.variables = append(d.out, '}')
	}
	return item
}

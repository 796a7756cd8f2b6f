package soap

import (
	"slices"
	"strings"

	"tidings/schema"
)

// A batch operation does what an operation on one record does for a list of
// them: CreatePosts is CreatePost, many times. Its answer has an item for each,
// in their order, and the failure of an item is no fault.

const (
	kindBatch kind = "batch"
	// maxItems is how many items a batch takes.
	maxItems = 200
	// maxRef bounds a clientRef, in bytes.
	maxRef = 255
)

// The elements of a batch, beside the record's own.
const (
	inputsName    = "inputs"
	allOrNoneName = "allOrNone"
	refName       = "clientRef"
)

// batch maps the batch of an operation that creates, updates or deletes one
// record; nil for every other.
func (b *builder) batch(f rootField, one *operation) *operation {
	verb := batchVerbs[f.Kind]
	if verb == "" || len(one.args) != 1 || one.args[0].typ.form != formObject {
		return nil
	}
	r := f.Resource
	return &operation{
		name: verb + strings.ToUpper(r.Plural[:1]) + r.Plural[1:], kind: kindBatch, mutation: true, one: one,
		doc: one.name + " for up to 200 items: the answer has one for each, in their order. What is wrong with an item is no fault but its error. " +
			"With allOrNone, all of them are carried out or none.",
		args: []*part{
			{name: inputsName, typ: b.batchInputs(one), aside: true},
			{name: allOrNoneName, typ: b.leaf("Boolean"), optional: true, nillable: true,
				doc: "Carry out all items as one transaction, or none. Default: false, each for itself."},
		},
		result: &part{name: resultName, typ: b.batchResults(r, verb, one)},
	}
}

var batchVerbs = map[schema.RootKind]string{schema.RootCreate: "Create", schema.RootUpdate: "Update", schema.RootDelete: "Delete"}

// batchInputs maps the items: the input of one, and a clientRef.
func (b *builder) batchInputs(one *operation) *xsdType {
	input := one.args[0].typ
	item, made := b.declare(&xsdType{name: one.name + "Item", origin: "an item of the batch of " + one.name, form: formObject, doc: input.doc})
	if !made {
		item.fields = append(item.fields, input.fields...)
		if !slices.ContainsFunc(input.fields, func(p *part) bool { return strings.EqualFold(p.name, refName) }) {
			item.fields = append(item.fields, &part{name: refName, typ: b.leaf("String"), optional: true, aside: true,
				doc: "Comes back with the item's result, for the caller to tell by; at most 255 bytes."})
		}
	}
	return b.listNamed(input.name+"List", item)
}

// batchResults maps what becomes of the items.
func (b *builder) batchResults(r *schema.Resource, verb string, one *operation) *xsdType {
	item, made := b.declare(&xsdType{name: verb + r.Name + "Result", origin: "a result of the batch of " + one.name, form: formObject})
	if !made {
		item.fields = []*part{
			{name: "index", typ: b.leaf("Int"), doc: "Place among the inputs, from 0."},
			{name: "success", typ: b.leaf("Boolean")},
			{name: refName, typ: b.leaf("String"), nillable: true},
			{name: recordName(b.typeName(r.Name)), typ: one.result.typ, optional: true, doc: "Left out of an answer that would become too large, and where it may not be read."},
			{name: "error", typ: b.batchError(), optional: true},
		}
	}
	return b.listNamed(item.name+"List", item)
}

// recordField is the place of the record in the result of an item.
const recordField = 3

// recordName is the element of a record in its result.
func recordName(typ string) string {
	name := strings.ToLower(typ[:1]) + typ[1:]
	switch strings.ToLower(name) {
	case "index", "success", "error", strings.ToLower(refName):
		return "record"
	}
	return name
}

func (b *builder) batchError() *xsdType {
	t, made := b.declare(&xsdType{name: "ItemError", origin: "the error of a batch's item", form: formObject, doc: "Why an item was not carried out."})
	if !made {
		t.fields = []*part{
			{name: "code", typ: b.leaf("String"), doc: "As in a ServiceFault; NOT_DONE says that the error of another item is the reason."},
			{name: "message", typ: b.leaf("String")},
			{name: "path", typ: b.leaf("String"), nillable: true, doc: "The value of the item that is to blame, such as title."},
		}
	}
	return t
}

// listNamed is list with a name of its own.
func (b *builder) listNamed(name string, item *xsdType) *xsdType {
	t, _ := b.declare(&xsdType{name: name, origin: "the list of " + item.name, form: formList, item: &part{name: "item", typ: item, optional: true}})
	return t
}

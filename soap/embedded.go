package soap

import (
	"fmt"

	"tidings/schema"
)

// Objects inside of records. Their types are made once, as all others; a field
// that leads back to its own type is left out, so that no type reaches itself.

// valueOf maps a stored field's type: leaves, embedded objects, and lists of both.
func (b *builder) valueOf(t *schema.Type, o *schema.Object) *xsdType {
	switch {
	case o == nil:
		return b.typeOf(t)
	case t.Elem == nil:
		return b.embedded(o)
	}
	return b.list(&part{name: "item", typ: b.valueOf(t.Elem, o), nillable: !t.Elem.NonNull})
}

// embedded maps an object type to its fields, and an interface or a union to one
// optional element for each of its types, of which exactly one is there.
func (b *builder) embedded(o *schema.Object) *xsdType {
	t := &xsdType{name: o.Name, origin: "the type " + o.Name, doc: o.Description, form: formObject}
	if o.Abstract() {
		t.form = formVariant
	}
	t, made := b.declare(t)
	if made {
		return t
	}
	for _, member := range o.Members {
		t.fields = append(t.fields, &part{name: member.Key(), doc: member.Description, typ: b.embedded(member), optional: true})
	}
	for _, f := range o.Fields {
		if f.Object != nil && reaches(f.Object, o, map[*schema.Object]bool{}) {
			continue
		}
		p := &part{name: f.Name, doc: b.description(o.Name, f.Name), typ: b.valueOf(f.Type, f.Object)}
		p.optional = !f.Type.NonNull && p.typ.form == formList
		p.nillable = !f.Type.NonNull && p.typ.form != formList
		t.fields = append(t.fields, p)
	}
	return t
}

// reaches reports whether values of o can hold values of target.
func reaches(o, target *schema.Object, seen map[*schema.Object]bool) bool {
	if o == target {
		return true
	}
	if seen[o] {
		return false
	}
	seen[o] = true
	for _, member := range o.Members {
		if reaches(member, target, seen) {
			return true
		}
	}
	for _, f := range o.Fields {
		if f.Object != nil && reaches(f.Object, target, seen) {
			return true
		}
	}
	return false
}

// variantSelection selects the fields of each type under names of their own,
// since fields of one name may differ between the types.
func (t *xsdType) variantSelection() string {
	text := " { __typename"
	for _, member := range t.fields {
		text += " ... on " + member.typ.name + " {"
		for _, f := range member.typ.fields {
			text += " " + variantAlias(member, f) + ": " + f.name + f.typ.selection()
		}
		text += " __typename }"
	}
	return text + " }"
}

func variantAlias(member, f *part) string { return member.name + "_" + f.name }

// appendVariant writes the one element of a value whose type its first member
// names.
func (t *xsdType) appendVariant(out []byte, r *jsonReader) ([]byte, error) {
	if !r.take('{') {
		return nil, errJSON
	}
	if key, err := r.key(); err != nil || string(key) != "__typename" {
		return nil, errJSON
	}
	text, err := r.string()
	if err != nil {
		return nil, err
	}
	name := string(text)
	for _, member := range t.fields {
		if member.typ.name != name {
			continue
		}
		out = append(append(append(out, "<tns:"...), member.name...), '>')
		for _, f := range member.typ.fields {
			if !r.take(',') {
				return nil, errJSON
			}
			if key, err := r.key(); err != nil || string(key) != variantAlias(member, f) {
				return nil, errJSON
			}
			if out, err = f.append(out, r); err != nil {
				return nil, err
			}
		}
		if !r.take('}') {
			return nil, errJSON
		}
		return append(append(append(out, "</tns:"...), member.name...), '>'), nil
	}
	return nil, fmt.Errorf("%s holds a %.60s", t.name, name)
}

// anyJSON reports whether a scalar that the adopter declared is stored
// somewhere, where it may hold any JSON.
func (b *builder) anyJSON(name string) bool {
	return b.model.Contract.Types[name].Directives.ForName("specifiedBy") != nil && !schema.BuiltIn(name)
}

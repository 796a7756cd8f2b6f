package soap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidings/schema"
)

// Objects that are no records: those inside of records, and those that the
// adopter's own root fields answer with. Their values come whole, so they are
// shown whole; a field that leads back to its own type is left out, so that no
// type reaches itself. Records lead to other records as summaries alone.

// value maps the type of a result. Records in it are whole or summaries.
func (b *builder) value(t *schema.Type, s shape) *xsdType {
	if t.Elem != nil {
		item := &part{name: "item", typ: b.value(t.Elem, s)}
		item.nillable = !t.Elem.NonNull
		return b.list(item)
	}
	def := b.model.Contract.Types[t.NamedType]
	switch {
	case def == nil || def.IsLeafType():
		return b.leaf(t.NamedType)
	case b.model.Resource(def.Name) != nil:
		return b.object(b.model.Resource(def.Name), s)
	case b.pageOf(def) != nil:
		return b.connection(b.pageOf(def))
	case b.generatedFor(def, "ChangePage") != nil:
		return b.changePage(b.generatedFor(def, "ChangePage"))
	case b.generatedFor(def, "Change") != nil:
		return b.changePage(b.generatedFor(def, "Change")).fields[0].typ.item.typ
	case def.Kind == "OBJECT":
		return b.plain(def)
	}
	return b.variant(def)
}

// pageOf returns the resource whose generated connection a type is, nil for others.
func (b *builder) pageOf(def *schema.Definition) *schema.Resource {
	return b.generatedFor(def, "Connection")
}

// generatedFor returns the resource that a type was generated for, whose name ends so.
func (b *builder) generatedFor(def *schema.Definition, ending string) *schema.Resource {
	name, ok := strings.CutSuffix(def.Name, ending)
	if !ok {
		return nil
	}
	return b.model.Resource(name)
}

// plain maps an object type. Of a connection the nodes are enough.
func (b *builder) plain(def *schema.Definition) *xsdType {
	t, made := b.declare(&xsdType{name: b.typeName(def.Name), origin: "the type " + def.Name, doc: def.Description, form: formObject, condition: def.Name})
	if made {
		return t
	}
	isPage := def.Fields.ForName("nodes") != nil && def.Fields.ForName("pageInfo") != nil
	for _, f := range def.Fields {
		if said := schema.SOAPOf(f.Directives); said.Hidden || isPage && f.Name == "edges" || !b.shown(f, said) || b.reaches(f.Type.Name(), def.Name, map[string]bool{}) {
			continue
		}
		s := shape(schema.SOAPOf(f.Directives).Include && f.Type.Elem == nil || isPage)
		t.fields = append(t.fields, b.outputPart(f, b.value(f.Type, s)))
	}
	return t
}

// shown reports whether a field can be asked for as it is. Lists of records are
// asked for where the schema includes them, or the list is a page.
func (b *builder) shown(f *schema.FieldDefinition, said schema.SOAP) bool {
	if f.Type.Elem != nil && b.model.Resource(f.Type.Name()) != nil && f.Name != "nodes" && !said.Include {
		return false
	}
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil {
			return false
		}
	}
	return !strings.HasPrefix(f.Name, "__")
}

// variant maps an interface or a union: one optional element for each type that
// may be there, of which exactly one is. No choice and no xsi:type: most clients
// know neither.
func (b *builder) variant(def *schema.Definition) *xsdType {
	t, made := b.declare(&xsdType{name: b.typeName(def.Name), origin: "the type " + def.Name, form: formVariant,
		doc: strings.TrimSpace(def.Description + "\nExactly one of the elements is present.")})
	if made {
		return t
	}
	members := slices.SortedFunc(slices.Values(b.model.Contract.PossibleTypes[def.Name]), func(x, y *schema.Definition) int { return cmp.Compare(x.Name, y.Name) })
	for _, member := range members {
		typ := b.value(&schema.Type{NamedType: member.Name}, whole)
		t.fields = append(t.fields, &part{name: memberName(member.Name), doc: member.Description, typ: typ, optional: true})
	}
	return t
}

// memberName is the element of a type in an interface or a union.
func memberName(typ string) string { return (&schema.Object{Name: typ}).Key() }

// reaches reports whether values of a type that is no record can hold values of
// target.
func (b *builder) reaches(typ, target string, seen map[string]bool) bool {
	def := b.model.Contract.Types[typ]
	if typ == target {
		return true
	}
	if def == nil || def.IsLeafType() || seen[typ] || b.model.Resource(typ) != nil {
		return false
	}
	seen[typ] = true
	for _, member := range b.model.Contract.PossibleTypes[typ] {
		if member.Name != typ && b.reaches(member.Name, target, seen) {
			return true
		}
	}
	if def.Kind != "OBJECT" {
		return false // only the fields of its types are asked for
	}
	for _, f := range def.Fields {
		if b.reaches(f.Type.Name(), target, seen) {
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
		text += " ... on " + member.typ.condition + " {"
		for _, f := range member.typ.fields {
			text += " " + variantAlias(member, f) + ": " + cmp.Or(f.source, f.name) + f.typ.selection()
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
		if member.typ.condition != name {
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

package soap

import (
	"strings"

	"tidings/schema"
)

// form is how a type's values are written.
type form int

const (
	formText     form = iota + 1 // any characters
	formInt                      // xsd:int
	formDouble                   // xsd:double
	formBoolean                  // xsd:boolean
	formDateTime                 // xsd:dateTime
	formDate                     // xsd:date
	formEnum                     // one of values
	formObject                   // fields, in their order
	formList                     // item, any number of times
	formVariant                  // exactly one of fields
	formJSON                     // any JSON, as text
)

// xsdType is a type of the contract: one built into XML Schema when its name is
// empty, otherwise one that the WSDL declares.
type xsdType struct {
	name   string
	origin string // what it was made of: two of one name and different origin collide
	base   string // of a simple type: the built-in one, such as xsd:string
	doc    string
	form   form
	fields []*part
	item   *part
	values []enumValue
	facets string // of a restricted simple type, as XSD
}

type enumValue struct{ name, doc string }

// part is an element inside of another.
type part struct {
	name     string
	doc      string
	field    string // of GraphQL; empty: the same name
	typ      *xsdType
	optional bool // minOccurs="0"
	nillable bool
	clears   bool // fieldsToNull: the names of fields to set to null
}

// depth of an object's shape.
type shape bool

const (
	whole   shape = true  // all leaf fields, and a summary of each to-one relation
	summary shape = false // the leaf fields that everybody may read
)

// object maps a resource's records. A summary leads nowhere, so no type ever
// reaches itself; lists of records are left out.
func (b *builder) object(r *schema.Resource, s shape) *xsdType {
	t := &xsdType{name: r.Name, origin: "the type " + r.Name, doc: r.Description, form: formObject}
	if s == summary {
		t.name += "Summary"
		t.origin = "the summary of " + r.Name
		t.doc = "What everybody may read of " + r.Name + ", without what it is related to."
	}
	t, made := b.declare(t)
	if made {
		return t
	}
	for _, f := range r.Fields {
		if p := b.output(r, f, s); p != nil {
			t.fields = append(t.fields, p)
		}
	}
	return t
}

// declare enters a type under its name, or returns the one that was made of the
// same before. Of two that only share a name, the contract tells later.
func (b *builder) declare(t *xsdType) (declared *xsdType, made bool) {
	for _, other := range b.types[t.name] {
		if other.origin == t.origin {
			return other, true
		}
	}
	b.types[t.name] = append(b.types[t.name], t)
	return t, false
}

// output maps a field of a record; nil when the shape leaves it out. What the
// caller may be refused can be absent or nil, whatever the schema promises.
func (b *builder) output(r *schema.Resource, f *schema.Field, s shape) *part {
	p := &part{name: f.Name, doc: b.description(r.Name, f.Name)}
	private := f.Auth[schema.Read] != nil
	switch {
	case s == summary && (f.Relation != nil || private):
		return nil
	case f.Relation != nil && f.Relation.Many:
		return nil
	case f.Relation != nil:
		p.typ, p.optional = b.object(f.Relation.Target, summary), true
	default:
		p.typ = b.valueOf(f.Type, f.Object)
		mayLack := !f.Type.NonNull || private
		p.optional = mayLack && p.typ.form == formList
		p.nillable = mayLack && p.typ.form != formList
	}
	return p
}

func (b *builder) description(typ, field string) string {
	if def := b.model.Contract.Types[typ]; def != nil {
		if f := def.Fields.ForName(field); f != nil {
			return f.Description
		}
	}
	return ""
}

// connection maps a page of a list: the records, where the page ends, and what
// else the connection says in leaf fields, such as totalCount.
func (b *builder) connection(r *schema.Resource) *xsdType {
	t, made := b.declare(&xsdType{name: r.Name + "Connection", origin: "the pages of " + r.Name, form: formObject,
		doc: "One page of a list. The next one begins after pageInfo/endCursor."})
	if made {
		return t
	}
	def := b.model.Contract.Types[t.name]
	for _, f := range def.Fields {
		p := &part{name: f.Name, doc: f.Description, nillable: !f.Type.NonNull}
		leaf := b.model.Contract.Types[f.Type.Name()]
		switch {
		case f.Name == "nodes":
			p.typ = b.list(&part{name: "item", typ: b.object(r, whole)})
		case f.Name == "pageInfo":
			p.typ = b.plain("PageInfo")
		case leaf.IsLeafType():
			p.typ = b.typeOf(f.Type)
		default:
			continue
		}
		t.fields = append(t.fields, p)
	}
	return t
}

// plain maps an object that is no resource: its leaf fields.
func (b *builder) plain(name string) *xsdType {
	def := b.model.Contract.Types[name]
	t, made := b.declare(&xsdType{name: name, origin: "the type " + name, doc: def.Description, form: formObject})
	if made {
		return t
	}
	for _, f := range def.Fields {
		if b.model.Contract.Types[f.Type.Name()].IsLeafType() {
			t.fields = append(t.fields, &part{name: f.Name, doc: f.Description, typ: b.typeOf(f.Type), nillable: !f.Type.NonNull})
		}
	}
	return t
}

// typeOf maps a GraphQL type whose leaf is a scalar or an enum.
func (b *builder) typeOf(t *schema.Type) *xsdType {
	if t.Elem == nil {
		return b.leaf(t.NamedType)
	}
	return b.list(&part{name: "item", typ: b.typeOf(t.Elem), nillable: !t.Elem.NonNull})
}

// list wraps items. Only a wrapper keeps an empty list and no list apart.
func (b *builder) list(item *part) *xsdType {
	stem := item.typ.name
	if stem == "" {
		stem = strings.TrimPrefix(item.typ.base, "xsd:")
		stem = strings.ToUpper(stem[:1]) + stem[1:]
	}
	if item.nillable {
		stem = "Nullable" + stem
	}
	item.optional = true // any number, none included
	t, _ := b.declare(&xsdType{name: stem + "List", origin: "the list of " + item.typ.ref(), form: formList, item: item})
	return t
}

// leaf maps a scalar or an enum. A scalar that is not known here travels as text.
func (b *builder) leaf(name string) *xsdType {
	builtIn := map[string]*xsdType{
		"Int":      {base: "xsd:int", form: formInt},
		"Float":    {base: "xsd:double", form: formDouble},
		"Boolean":  {base: "xsd:boolean", form: formBoolean},
		"DateTime": {base: "xsd:dateTime", form: formDateTime},
		"Date":     {base: "xsd:date", form: formDate},
	}
	restricted := map[string]*xsdType{
		"EmailAddress": {base: "xsd:string", form: formText, facets: `<xsd:maxLength value="254"/>`},
		"URL":          {base: "xsd:string", form: formText},
		"UUID":         {base: "xsd:string", form: formText, facets: `<xsd:length value="36"/>`},
		"PositiveInt":  {base: "xsd:int", form: formInt, facets: `<xsd:minInclusive value="1"/>`},
	}
	if t, ok := builtIn[name]; ok {
		return t
	}
	def := b.model.Contract.Types[name]
	t := restricted[name]
	switch {
	case t != nil:
	case def != nil && def.Kind == "ENUM":
		t = &xsdType{base: "xsd:string", form: formEnum}
		for _, v := range def.EnumValues {
			t.values = append(t.values, enumValue{v.Name, v.Description})
		}
	case def != nil && (name == "JSON" || !def.BuiltIn && def.Kind == "SCALAR" && b.anyJSON(name)):
		return &xsdType{base: "xsd:string", form: formJSON}
	default:
		return &xsdType{base: "xsd:string", form: formText}
	}
	t.name, t.origin = name, "the type "+name
	if def != nil {
		t.doc = def.Description
	}
	t, _ = b.declare(t)
	return t
}

// text reports whether an absent value and an empty one look alike to clients
// that know no null.
func (t *xsdType) text() bool { return t.form == formText }

// ref is the type's name where the WSDL refers to it.
func (t *xsdType) ref() string {
	if t.name == "" {
		return t.base
	}
	return "tns:" + t.name
}

// selection is the GraphQL selection set that answers with this type, empty for a leaf.
func (t *xsdType) selection() string {
	switch t.form {
	case formList:
		return t.item.typ.selection()
	case formVariant:
		return t.variantSelection()
	case formObject:
		names := make([]string, len(t.fields))
		for i, f := range t.fields {
			names[i] = f.name + f.typ.selection()
			if f.field != "" {
				names[i] = f.name + ": " + f.field + f.typ.selection()
			}
		}
		return " { " + strings.Join(names, " ") + " }"
	}
	return ""
}

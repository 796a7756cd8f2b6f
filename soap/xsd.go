package soap

import (
	"cmp"
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
	formTime                     // xsd:time
	formLong                     // xsd:long
	formDecimal                  // xsd:decimal, in JSON a string
	formBinary                   // xsd:base64Binary, in JSON a string
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
	// condition is the GraphQL type of what a variant may hold.
	condition string
	// width is how many fields a selection has, once it was counted.
	width int
}

type enumValue struct{ name, doc string }

// part is an element inside of another.
type part struct {
	name     string
	doc      string
	typ      *xsdType
	optional bool // minOccurs="0"
	nillable bool
	// source is what GraphQL calls it, empty when that is the name: of an input
	// the field, of a result what is asked for, such as posts(limit: 5).
	source string
	// place is where the document of a stored operation has the argument: input.title.
	place  string
	clears bool // fieldsToNull: the names of fields to set to null
	aside  bool // no part of the variables: it is read by itself
	// defaults is what an input is when it is left out, as GraphQL writes it; empty:
	// nothing.
	defaults string

	written
}

// depth of an object's shape.
type shape bool

const (
	whole   shape = true  // all leaf fields, and a summary of each to-one relation
	summary shape = false // the leaf fields that everybody may read
)

// object maps a resource's records. A summary leads nowhere, so no type ever
// reaches itself; lists of records are there where the schema includes them.
func (b *builder) object(r *schema.Resource, s shape) *xsdType {
	name := b.typeName(r.Name)
	t := &xsdType{name: name, origin: "the type " + r.Name, doc: r.Description, form: formObject, condition: r.Name}
	if s == summary {
		t.name += "Summary"
		t.origin = "the summary of " + r.Name
		t.doc = "What everybody may read of " + name + ", without what it is related to."
	}
	t, made := b.declare(t)
	if made {
		return t
	}
	for _, f := range b.model.Contract.Types[r.Name].Fields {
		if p := b.output(r.Field(f.Name), f, s); p != nil {
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
// caller may be refused can be absent or nil, whatever the schema promises: it
// is nullable in the contract.
func (b *builder) output(f *schema.Field, def *schema.FieldDefinition, s shape) *part {
	said := schema.SOAPOf(def.Directives)
	related, private := f.Relation != nil, f.Auth[schema.Read] != nil
	switch {
	case said.Hidden, s == summary && (related || private), related && f.Relation.Many && !said.Include:
		return nil
	case related && f.Relation.Many:
		items := b.list(&part{name: "item", typ: b.object(f.Relation.Target, summary)})
		return b.outputPart(def, items)
	case related:
		return b.outputPart(def, b.object(f.Relation.Target, shape(said.Include)))
	}
	return b.outputPart(def, b.value(def.Type, summary))
}

// outputPart is a field of a result. What may be null is left out where it is an
// object or a list, and nil where it is a value: clients differ on everything else.
func (b *builder) outputPart(f *schema.FieldDefinition, typ *xsdType) *part {
	p := &part{name: f.Name, doc: described(f.Description, f.Directives), typ: typ}
	if name := schema.SOAPOf(f.Directives).Name; name != "" && name != f.Name {
		p.name, p.source = name, f.Name
	}
	p.mayLack(!f.Type.NonNull)
	return p
}

// mayLack says whether there can be no value in a result.
func (p *part) mayLack(lacks bool) {
	structured := p.typ.form == formList || p.typ.form == formObject || p.typ.form == formVariant
	p.optional = lacks && structured
	p.nillable = lacks && !structured
}

// connection maps a page of a list: the records, where the page ends, and what
// else the connection says in leaf fields, such as totalCount.
func (b *builder) connection(r *schema.Resource) *xsdType {
	t, made := b.declare(&xsdType{name: b.typeName(r.Name) + "Connection", origin: "the pages of " + r.Name, form: formObject, condition: r.Name + "Connection",
		doc: "One page of a list. The next one begins after pageInfo/endCursor."})
	if made {
		return t
	}
	for _, f := range b.model.Contract.Types[r.Name+"Connection"].Fields {
		switch {
		case f.Name == "nodes":
			t.fields = append(t.fields, b.outputPart(f, b.list(&part{name: "item", typ: b.object(r, whole)})))
		case f.Name == "pageInfo" || b.model.Contract.Types[f.Type.Name()].IsLeafType():
			t.fields = append(t.fields, b.outputPart(f, b.value(f.Type, summary)))
		}
	}
	return t
}

// list wraps items. Only a wrapper keeps an empty list and no list apart.
func (b *builder) list(item *part) *xsdType {
	stem := item.typ.name
	switch {
	case item.typ.form == formJSON: // whose items are read and written otherwise than those of texts
		stem = "JSON"
	case stem == "":
		stem = strings.TrimPrefix(item.typ.base, "xsd:")
		stem = strings.ToUpper(stem[:1]) + stem[1:]
	}
	if item.nillable {
		stem += "Nullable"
	}
	item.optional = true // any number, none included
	t, _ := b.declare(&xsdType{name: stem + "List", origin: "the list of " + typeWord(item.typ), form: formList, item: item})
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
	if t, ok := customary[name]; ok && def != nil && def.Kind == "SCALAR" {
		return &t
	}
	t := restricted[name]
	switch {
	case t != nil:
	case def != nil && def.Kind == "ENUM" && b.typeSOAP(name).OpenEnum:
		t = &xsdType{base: "xsd:string", form: formText}
	case def != nil && def.Kind == "ENUM":
		t = &xsdType{base: "xsd:string", form: formEnum}
		for _, v := range def.EnumValues {
			t.values = append(t.values, enumValue{v.Name, described(v.Description, v.Directives)})
		}
	case def != nil && (name == "JSON" || !def.BuiltIn && def.Kind == "SCALAR" && b.anyJSON(name)):
		return &xsdType{base: "xsd:string", form: formJSON}
	default:
		return &xsdType{base: "xsd:string", form: formText}
	}
	t.name, t.origin = name, "the type "+name
	if def != nil {
		t.name, t.doc = b.typeName(name), def.Description
		if t.form == formText && def.Kind == "ENUM" {
			t.doc = openValues(def)
		}
	}
	t, _ = b.declare(t)
	return t
}

// customary are the types of scalars that adopters declare under names which
// mean the same everywhere.
var customary = map[string]xsdType{
	"Long":       {base: "xsd:long", form: formLong},
	"BigInt":     {base: "xsd:long", form: formLong},
	"Decimal":    {base: "xsd:decimal", form: formDecimal},
	"BigDecimal": {base: "xsd:decimal", form: formDecimal},
	"Bytes":      {base: "xsd:base64Binary", form: formBinary},
	"Base64":     {base: "xsd:base64Binary", form: formBinary},
	"Time":       {base: "xsd:time", form: formTime},
	"Duration":   {base: "xsd:string", form: formText},
}

// openValues describes an enum that may get more values.
func openValues(def *schema.Definition) string {
	lines := []string{strings.TrimSpace(def.Description + " More values may appear. Today:")}
	for _, v := range def.EnumValues {
		line := v.Name
		if doc := described(v.Description, v.Directives); doc != "" {
			line += ": " + doc
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
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
	if t.fieldsBelow() > maxFields {
		return " { __typename }" // the contract is refused
	}
	switch t.form {
	case formList:
		return t.item.typ.selection()
	case formVariant:
		return t.variantSelection()
	case formObject:
		names := make([]string, len(t.fields))
		for i, f := range t.fields {
			names[i] = f.selection()
		}
		return " { " + strings.Join(names, " ") + " }"
	}
	return ""
}

// selection is what the GraphQL selection set of an object says of the field.
func (p *part) selection() string {
	if p.source == "" {
		return p.name + p.typ.selection()
	}
	return p.name + ": " + p.source + p.typ.selection()
}

// member is what GraphQL calls an element of an input.
func (p *part) member() string { return cmp.Or(p.source, p.name) }

// maxFields bounds what one operation asks for: objects within objects can multiply.
const maxFields = 4_000

// fieldsBelow is how many fields the selection of a type has, all levels together.
func (t *xsdType) fieldsBelow() int {
	if t.form == formList {
		return t.item.typ.fieldsBelow()
	}
	if t.width == 0 {
		for _, f := range t.fields {
			t.width = min(t.width+1+f.typ.fieldsBelow(), 1<<20)
		}
	}
	return t.width
}

// hollow returns an object at or below a type of which nothing is shown, because
// its fields want arguments, lead back or are hidden: GraphQL cannot ask for it.
func (t *xsdType) hollow() *xsdType {
	switch {
	case t.form == formList:
		return t.item.typ.hollow()
	case t.form == formObject && len(t.fields) == 0:
		return t
	}
	for _, f := range t.fields {
		if t.form == formVariant && len(f.typ.fields) == 0 {
			continue // its presence says enough
		}
		if h := f.typ.hollow(); h != nil {
			return h
		}
	}
	return nil
}

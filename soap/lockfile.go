package soap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The file of a lock. What a member says is what the field of its name says in
// operation, part and xsdType.
type (
	lockFile struct {
		Format     string          `json:"format"`
		Version    string          `json:"version"`
		Service    string          `json:"service"`
		Namespace  string          `json:"namespace"`
		Fault      []string        `json:"fault,omitempty"` // the elements of a ServiceFault
		Operations []lockOperation `json:"operations"`
		Types      []lockType      `json:"types"`
	}
	lockOperation struct {
		Name     string     `json:"name"`
		Kind     kind       `json:"kind"`
		Mutation bool       `json:"mutation,omitempty"`
		Several  bool       `json:"several,omitempty"`
		Doc      string     `json:"doc,omitempty"`
		Document string     `json:"document,omitempty"`
		Wakes    string     `json:"wakes,omitempty"`
		One      string     `json:"one,omitempty"` // the operations by their names
		Batch    string     `json:"batch,omitempty"`
		Args     []lockPart `json:"args,omitempty"`
		Result   *lockPart  `json:"result,omitempty"`
	}
	lockPart struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Optional bool   `json:"optional,omitempty"`
		Nillable bool   `json:"nillable,omitempty"`
		Source   string `json:"source,omitempty"`
		Place    string `json:"place,omitempty"`
		Clears   bool   `json:"clears,omitempty"`
		Aside    bool   `json:"aside,omitempty"`
		Defaults string `json:"default,omitempty"`
		Doc      string `json:"doc,omitempty"`
	}
	lockType struct {
		Name      string      `json:"name"`
		Form      string      `json:"form"`
		Base      string      `json:"base,omitempty"`
		Facets    string      `json:"facets,omitempty"`
		Condition string      `json:"condition,omitempty"`
		Doc       string      `json:"doc,omitempty"`
		Fields    []lockPart  `json:"fields,omitempty"`
		Item      *lockPart   `json:"item,omitempty"`
		Values    []lockValue `json:"values,omitempty"`
	}
	lockValue struct {
		Name string `json:"name"`
		Doc  string `json:"doc,omitempty"`
	}
)

const lockFormat = "tidings soap lock 1"

// maxLock bounds a lock's file.
const maxLock = 64 << 20

var formNames = map[form]string{
	formText: "text", formInt: "int", formDouble: "double", formBoolean: "boolean", formDateTime: "dateTime", formDate: "date",
	formEnum: "enum", formObject: "object", formList: "list", formVariant: "variant", formJSON: "json",
	formTime: "time", formLong: "long", formDecimal: "decimal", formBinary: "binary",
}

func lockFileOf(c *contract) *lockFile {
	file := &lockFile{Format: lockFormat, Version: c.version, Service: c.service, Namespace: c.namespace, Fault: c.faultElements()}
	for _, op := range c.operations {
		out := lockOperation{Name: op.name, Kind: op.kind, Mutation: op.mutation, Several: op.several, Doc: op.doc, Document: op.document, Wakes: op.wakes, Args: lockParts(op.args)}
		if op.one != nil {
			out.One = op.one.name
		}
		if op.batch != nil {
			out.Batch = op.batch.name
		}
		if op.result != nil {
			result := lockPartOf(op.result)
			out.Result = &result
		}
		file.Operations = append(file.Operations, out)
	}
	for _, t := range c.types {
		out := lockType{Name: t.name, Form: formNames[t.form], Base: t.base, Facets: t.facets, Condition: t.condition, Doc: t.doc, Fields: lockParts(t.fields)}
		if t.item != nil {
			item := lockPartOf(t.item)
			out.Item = &item
		}
		for _, v := range t.values {
			out.Values = append(out.Values, lockValue{v.name, v.doc})
		}
		file.Types = append(file.Types, out)
	}
	return file
}

func lockParts(parts []*part) []lockPart {
	out := make([]lockPart, len(parts))
	for i, p := range parts {
		out[i] = lockPartOf(p)
	}
	return out
}

func lockPartOf(p *part) lockPart {
	return lockPart{Name: p.name, Type: typeWord(p.typ), Optional: p.optional, Nillable: p.nillable, Source: p.source, Place: p.place, Clears: p.clears, Aside: p.aside, Defaults: p.defaults, Doc: p.doc}
}

// typeWord names a type of the contract, or one that is built in.
func typeWord(t *xsdType) string {
	switch {
	case t.name != "":
		return t.name
	case t.form == formJSON:
		return "xsd:string json"
	}
	return t.base
}

var builtInTypes = map[string]form{
	"xsd:string": formText, "xsd:int": formInt, "xsd:double": formDouble, "xsd:boolean": formBoolean, "xsd:dateTime": formDateTime, "xsd:date": formDate,
	"xsd:string json": formJSON, "xsd:time": formTime, "xsd:long": formLong, "xsd:decimal": formDecimal, "xsd:base64Binary": formBinary,
}

// text writes the file with a line for each part, so that differences are read
// easily.
func (f *lockFile) text() []byte {
	var flat bytes.Buffer
	enc := json.NewEncoder(&flat)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(f) // strings and bools always encode
	var out bytes.Buffer
	_ = json.Indent(&out, bytes.TrimSpace(flat.Bytes()), "", "  ") // it is JSON
	return append(inlined.ReplaceAllFunc(out.Bytes(), func(object []byte) []byte {
		return lineBreak.ReplaceAll(object, []byte(" "))
	}), '\n')
}

var (
	// inlined finds objects without others inside. A string has no line break.
	inlined   = regexp.MustCompile(`\{\n(?:\s+"(?:name|type|optional|nillable|source|place|clears|aside|doc)": (?:"(?:[^"\\\n]|\\.)*"|true),?\n)+\s+\}`)
	lineBreak = regexp.MustCompile(`\n\s*`)
)

// contract builds what is served of a lock.
func (f *lockFile) contract() (*contract, error) {
	c := &contract{service: f.Service, version: f.Version, namespace: f.Namespace, byName: map[string]*operation{}}
	r := &lockReader{types: map[string]*xsdType{}}
	for _, t := range f.Types {
		if !elementName.MatchString(t.Name) || r.types[t.Name] != nil {
			return nil, fmt.Errorf("there is a type %.60q twice, or none can be called so", t.Name)
		}
		r.types[t.Name] = &xsdType{name: t.Name, origin: "the type " + t.Name}
		c.types = append(c.types, r.types[t.Name])
	}
	for i, t := range f.Types {
		r.fill(c.types[i], t)
	}
	for _, o := range f.Operations {
		if !elementName.MatchString(o.Name) || c.byName[o.Name] != nil {
			r.fail("there is an operation %.60q twice, or none can be called so", o.Name)
		}
		op := &operation{name: o.Name, kind: o.Kind, mutation: o.Mutation, several: o.Several, doc: o.Doc, document: o.Document, wakes: o.Wakes, args: r.parts(o.Args)}
		if o.Result != nil {
			op.result = r.part(*o.Result)
		}
		c.operations = append(c.operations, op)
		c.byName[op.name] = op
	}
	r.connect(c, f.Operations)
	r.endless(c)
	if r.err != nil {
		return nil, r.err
	}
	c.write()
	return c, c.checkNames()
}

// lockReader resolves the names of types.
type lockReader struct {
	types map[string]*xsdType
	err   error // the first
}

func (r *lockReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *lockReader) fill(t *xsdType, in lockType) {
	for f, word := range formNames {
		if word == in.Form {
			t.form = f
		}
	}
	t.base, t.facets, t.condition, t.doc, t.fields = in.Base, in.Facets, in.Condition, in.Doc, r.parts(in.Fields)
	for _, v := range in.Values {
		t.values = append(t.values, enumValue{v.Name, v.Doc})
	}
	if in.Item != nil {
		t.item = r.part(*in.Item)
	}
	structured := t.form == formObject || t.form == formVariant || t.form == formList
	if t.form == 0 || (t.form == formList) != (t.item != nil) || structured == (t.base != "") {
		r.fail("the type %s is incomplete", in.Name)
	}
	if !slices.Contains(knownFacets, t.facets) {
		r.fail("the type %s has unknown facets", in.Name)
	}
}

// knownFacets are those that leaf gives.
var knownFacets = []string{"", `<xsd:maxLength value="254"/>`, `<xsd:length value="36"/>`, `<xsd:minInclusive value="1"/>`}

func (r *lockReader) parts(in []lockPart) []*part {
	var out []*part
	for _, p := range in {
		out = append(out, r.part(p))
	}
	return out
}

func (r *lockReader) part(in lockPart) *part {
	p := &part{name: in.Name, optional: in.Optional, nillable: in.Nillable, source: in.Source, place: in.Place, clears: in.Clears, aside: in.Aside, defaults: in.Defaults, doc: in.Doc, typ: r.types[in.Type]}
	if f, ok := builtInTypes[in.Type]; ok {
		p.typ = &xsdType{base: strings.TrimSuffix(in.Type, " json"), form: f}
	}
	if p.typ == nil {
		r.fail("%s has the type %.60q, which is not there", in.Name, in.Type)
		p.typ = &xsdType{base: "xsd:string", form: formText}
	}
	if !elementName.MatchString(in.Name) {
		r.fail("%.60q is no name of an element", in.Name)
	}
	return p
}

// connect finds the operations that others are made of, and reports an operation
// that lacks what it is carried out by.
func (r *lockReader) connect(c *contract, in []lockOperation) {
	for i, o := range in {
		c.operations[i].one, c.operations[i].batch = c.byName[o.One], c.byName[o.Batch]
	}
	for i, o := range in {
		op := c.operations[i]
		whole := map[kind]bool{
			kindDocument: op.document != "", kindPull: op.document != "", kindBatch: op.one != nil && len(op.args) == 2,
			kindSubmit: op.batch != nil && op.batch.one != nil && len(op.args) == 1, kindInfo: true, kindJob: true, kindCancelJob: true, kindJobResult: true,
		}[op.kind]
		if !whole || op.result == nil || (o.One != "") != (op.one != nil) || (o.Batch != "") != (op.batch != nil) {
			r.fail("the operation %s is incomplete, or of a kind that this release does not know", o.Name)
		}
	}
}

// endless reports a type that reaches itself.
func (r *lockReader) endless(c *contract) {
	state := map[*xsdType]int{}
	var visit func(t *xsdType)
	visit = func(t *xsdType) {
		if state[t] != 0 {
			if state[t] == 1 {
				r.fail("the type %s reaches itself", t.name)
			}
			return
		}
		state[t] = 1
		for _, f := range t.fields {
			visit(f.typ)
		}
		if t.item != nil {
			visit(t.item.typ)
		}
		state[t] = 2
	}
	for _, t := range c.types {
		visit(t)
	}
}

package soap

import (
	"slices"
	"strings"

	"tidings/schema"
)

// clearName is the element of an update's input that names the fields to set to
// null. An absent element and xsi:nil both mean "left as it is", because many
// clients send nil for whatever their program did not set.
const clearName = "fieldsToNull"

// input maps an argument of a root field. It is nil for what SOAP cannot hold:
// inputs that reach themselves (filters), and lists of inputs.
func (b *builder) input(a argument, r *schema.Resource, kind schema.RootKind) *part {
	p := &part{name: a.name, doc: a.doc, optional: !a.typ.NonNull || a.defaults != ""}
	leafName := a.typ.Name()
	def := b.model.Contract.Types[leafName]
	switch {
	case def == nil || def.Kind != "INPUT_OBJECT":
		p.typ = b.typeOf(a.typ)
		p.nillable = p.optional && p.typ.form != formList && (!p.typ.text() || a.defaults != "")
	case r != nil && kind != 0 && (a.typ.Elem != nil || b.leads(leafName, leafName, nil)):
		return nil
	default:
		p.typ = b.inputList(a.typ, func() *xsdType { return b.inputObject(leafName, r, kind) })
	}
	if a.defaults != "" {
		p.doc = strings.TrimSpace(p.doc + " Default: " + a.defaults + ".")
	}
	return p
}

// inputObject maps an input type. That of an update also takes clearName.
func (b *builder) inputObject(typ string, r *schema.Resource, kind schema.RootKind) *xsdType {
	def := b.model.Contract.Types[typ]
	t, made := b.declare(&xsdType{name: typ, origin: "the input " + typ, doc: def.Description, form: formObject})
	if made {
		return t
	}
	for _, f := range def.Fields {
		a := argument{name: f.Name, doc: f.Description, typ: f.Type}
		if f.DefaultValue != nil {
			a.defaults = f.DefaultValue.String()
		}
		if r != nil && kind == schema.RootCreate && a.defaults == "" && r.Field(f.Name) != nil {
			a.defaults = strings.Trim(string(r.Field(f.Name).Default), `"`)
		}
		if def.Directives.ForName("oneOf") == nil && b.leads(f.Type.Name(), typ, nil) {
			continue
		}
		if p := b.input(a, nil, 0); p != nil {
			t.fields = append(t.fields, p)
		}
	}
	if kind == schema.RootUpdate {
		t.fields = append(t.fields, &part{name: clearName, optional: true, clears: true,
			doc: "Names of the fields to clear. A field that is left out, or sent as xsi:nil, stays as it is.",
			typ: b.list(&part{name: "item", typ: b.leaf("String")})})
	}
	return t
}

// inputList wraps an input object's type in the lists around it.
func (b *builder) inputList(t *schema.Type, object func() *xsdType) *xsdType {
	if t.Elem == nil {
		return object()
	}
	return b.list(&part{name: "item", typ: b.inputList(t.Elem, object), nillable: !t.Elem.NonNull})
}

// leads reports whether an input type holds another one, or is it when it holds
// itself.
func (b *builder) leads(typ, target string, above []string) bool {
	def := b.model.Contract.Types[typ]
	if def == nil || def.Kind != "INPUT_OBJECT" || slices.Contains(above, typ) {
		return false
	}
	for _, f := range def.Fields {
		if name := f.Type.Name(); name == target || b.leads(name, target, append(above, typ)) {
			return true
		}
	}
	return false
}

package soap

import (
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
	case a.typ.Elem != nil || b.recursive(leafName, nil):
		return nil
	default:
		p.typ = b.inputObject(leafName, r, kind)
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
		if stored := r.Field(f.Name); stored != nil && kind == schema.RootCreate && a.defaults == "" {
			a.defaults = strings.Trim(string(stored.Default), `"`)
		}
		if p := b.input(a, r, kind); p != nil {
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

// recursive reports whether an input type reaches itself.
func (b *builder) recursive(typ string, above []string) bool {
	def := b.model.Contract.Types[typ]
	if def == nil || def.Kind != "INPUT_OBJECT" {
		return false
	}
	for _, name := range above {
		if name == typ {
			return true
		}
	}
	for _, f := range def.Fields {
		if b.recursive(f.Type.Name(), append(above, typ)) {
			return true
		}
	}
	return false
}

package soap

import (
	"fmt"
	"slices"
	"strings"

	"tidings/schema"
)

// clearName is the element of an update's input that names the fields to set to
// null. An absent element and xsi:nil both mean "left as it is", because many
// clients send nil for whatever their program did not set.
const clearName = "fieldsToNull"

// input maps an argument of a root field. Of a generated field it is nil for what
// SOAP cannot hold: inputs that reach themselves (filters), and lists of inputs.
func (b *builder) input(a argument, generated bool) *part {
	p := &part{name: a.name, doc: a.doc, optional: !a.typ.NonNull || a.defaults != "", defaults: a.defaults}
	if a.soap.Name != "" && a.soap.Name != a.name {
		p.name, p.source = a.soap.Name, a.name
	}
	def := b.model.Contract.Types[a.typ.Name()]
	switch {
	case def == nil || def.Kind != "INPUT_OBJECT":
		p.typ = b.value(a.typ, summary)
		p.nillable = p.optional && p.typ.form != formList && (!p.typ.text() || a.defaults != "")
	case p.optional && b.impossible(def) != "":
		return nil
	case generated && (a.typ.Elem != nil || b.leads(def.Name, def.Name, false, map[string]bool{})):
		return nil
	default:
		p.typ = b.inputList(a.typ, func() *xsdType { return b.inputObject(def) })
	}
	if a.defaults != "" {
		p.doc = strings.TrimSpace(p.doc + " Default: " + a.defaults + ".")
	}
	return p
}

// inputObject maps an input type, less the fields that lead back to it. That of an
// update also takes clearName.
func (b *builder) inputObject(def *schema.Definition) *xsdType {
	oneOf := def.Directives.ForName("oneOf") != nil
	t := &xsdType{name: b.typeName(def.Name), origin: originInput + def.Name, doc: def.Description, form: formObject}
	if oneOf && !strings.Contains(t.doc, exactlyOne) {
		t.doc = strings.TrimSpace(t.doc + "\n" + exactlyOne)
	}
	t, made := b.declare(t)
	if made {
		return t
	}
	r, kind := b.inputOf(def.Name)
	for _, f := range def.Fields {
		a := argument{name: f.Name, doc: described(f.Description, f.Directives), typ: f.Type, soap: schema.SOAPOf(f.Directives)}
		if f.DefaultValue != nil {
			a.defaults = f.DefaultValue.String()
		}
		if kind == schema.RootCreate && a.defaults == "" && r.Field(f.Name) != nil {
			a.defaults = strings.Trim(string(r.Field(f.Name).Default), `"`)
		}
		if a.soap.Hidden || b.cut(def, f) {
			continue
		}
		if p := b.input(a, false); p != nil {
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

// originInput is how the origin of an input's type begins.
const originInput = "the input "

const exactlyOne = "Exactly one field is given."

// inputOf says for the create or the update of which resource an input type is.
func (b *builder) inputOf(name string) (*schema.Resource, schema.RootKind) {
	for _, r := range b.model.Resources {
		switch name {
		case "Create" + r.Name + "Input":
			return r, schema.RootCreate
		case "Update" + r.Name + "Input":
			return r, schema.RootUpdate
		}
	}
	return nil, 0
}

// cut reports whether a field of an input type is left out, because it leads back
// to it. Of a @oneOf input only what never passes another input is: on every other
// way there is a field that is cut.
func (b *builder) cut(def *schema.Definition, f *schema.FieldDefinition) bool {
	oneOf := def.Directives.ForName("oneOf") != nil
	return f.Type.Name() == def.Name || b.leads(f.Type.Name(), def.Name, oneOf, map[string]bool{})
}

// impossible says why no value of an input type can be written in XML: it, or what
// it must hold, must be given a field that is cut. Empty: one can.
func (b *builder) impossible(def *schema.Definition) string {
	return b.hindrance(def, map[string]bool{})
}

func (b *builder) hindrance(def *schema.Definition, seen map[string]bool) string {
	if def == nil || def.Kind != "INPUT_OBJECT" || seen[def.Name] {
		return ""
	}
	seen[def.Name] = true
	for _, f := range def.Fields {
		if !f.Type.NonNull || f.DefaultValue != nil {
			continue
		}
		if b.cut(def, f) {
			return fmt.Sprintf("%s.%s: %s leads back to %s, and must be given", def.Name, f.Name, f.Type, def.Name)
		}
		if why := b.hindrance(b.model.Contract.Types[f.Type.Name()], seen); why != "" {
			return why
		}
	}
	return ""
}

// uncallable says why an argument that must be given cannot be; empty when it can.
func (b *builder) uncallable(a argument) string {
	if !a.typ.NonNull || a.defaults != "" {
		return ""
	}
	return b.impossible(b.model.Contract.Types[a.typ.Name()])
}

// inputList wraps an input object's type in the lists around it.
func (b *builder) inputList(t *schema.Type, object func() *xsdType) *xsdType {
	if t.Elem == nil {
		return object()
	}
	return b.list(&part{name: "item", typ: b.inputList(t.Elem, object), nillable: !t.Elem.NonNull})
}

// leads reports whether an input type holds another one, or is it when it holds
// itself. With oneOf only the ways by @oneOf inputs count.
func (b *builder) leads(typ, target string, oneOf bool, seen map[string]bool) bool {
	def := b.model.Contract.Types[typ]
	if def == nil || def.Kind != "INPUT_OBJECT" || seen[typ] || oneOf && def.Directives.ForName("oneOf") == nil {
		return false
	}
	seen[typ] = true
	return slices.ContainsFunc(def.Fields, func(f *schema.FieldDefinition) bool {
		return f.Type.Name() == target || b.leads(f.Type.Name(), target, oneOf, seen)
	})
}

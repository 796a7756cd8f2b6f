package schema

import (
	"cmp"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

func nameOfField(f *ast.FieldDefinition) string       { return f.Name }
func nameOfArgument(a *ast.ArgumentDefinition) string { return a.Name }
func nameOfValue(v *ast.EnumValueDefinition) string   { return v.Name }
func itself(s string) string                          { return s }

func (d *differ) enum(old, new *ast.Definition) {
	p := match(slices.Values(old.EnumValues), slices.Values(new.EnumValues), nameOfValue)
	for _, v := range p.removed {
		d.add(Breaking, "VALUE_REMOVED_FROM_ENUM", old.Name+"."+v.Name, "The value %s was removed from the enum %s.", v.Name, old.Name)
	}
	for _, v := range p.added {
		d.add(Dangerous, "VALUE_ADDED_TO_ENUM", old.Name+"."+v.Name, "The value %s was added to the enum %s.", v.Name, old.Name)
	}
	for _, v := range p.kept {
		d.description(old.Name+"."+v.old.Name, v.old.Description, v.new.Description)
		d.deprecation(old.Name+"."+v.old.Name, v.old.Directives, v.new.Directives)
	}
}

// members compares unions.
func (d *differ) members(old, new *ast.Definition) {
	p := match(slices.Values(old.Types), slices.Values(new.Types), itself)
	for _, name := range p.removed {
		d.add(Breaking, "TYPE_REMOVED_FROM_UNION", old.Name, "%s was removed from the union %s.", name, old.Name)
	}
	for _, name := range p.added {
		d.add(Dangerous, "TYPE_ADDED_TO_UNION", old.Name, "%s was added to the union %s.", name, old.Name)
	}
}

func (d *differ) interfaces(old, new *ast.Definition) {
	p := match(slices.Values(old.Interfaces), slices.Values(new.Interfaces), itself)
	for _, name := range p.removed {
		d.add(Breaking, "IMPLEMENTED_INTERFACE_REMOVED", old.Name, "%s is no longer implemented by %s.", name, old.Name)
	}
	for _, name := range p.added {
		d.add(Dangerous, "IMPLEMENTED_INTERFACE_ADDED", old.Name, "%s is now implemented by %s.", name, old.Name)
	}
}

// fields compares the fields of objects and interfaces.
func (d *differ) fields(old, new *ast.Definition) {
	p := match(slices.Values(old.Fields), slices.Values(new.Fields), nameOfField)
	for _, f := range p.removed {
		d.add(Breaking, "FIELD_REMOVED", old.Name+"."+f.Name, "The field %s was removed from %s.", f.Name, old.Name)
	}
	for _, f := range p.added {
		d.add(Safe, "FIELD_ADDED", old.Name+"."+f.Name, "The field %s was added to %s.", f.Name, old.Name)
	}
	for _, f := range p.kept {
		at := old.Name + "." + f.old.Name
		d.arguments(at, f.old.Arguments, f.new.Arguments, fieldArguments)
		was, is := f.old.Type.String(), f.new.Type.String()
		switch {
		case !answersStillFit(f.old.Type, f.new.Type):
			d.add(Breaking, "FIELD_CHANGED_KIND", at, "The type of %s changed from %s to %s.", at, was, is)
		case was != is:
			d.add(Safe, "FIELD_CHANGED_KIND_SAFE", at, "The type of %s changed from %s to %s.", at, was, is)
		}
		d.description(at, f.old.Description, f.new.Description)
		d.deprecation(at, f.old.Directives, f.new.Directives)
		d.deletion(at, f.old, f.new)
	}
}

// inputFields compares the fields of input types.
func (d *differ) inputFields(old, new *ast.Definition) {
	p := match(slices.Values(old.Fields), slices.Values(new.Fields), nameOfField)
	for _, f := range p.removed {
		d.add(Breaking, "FIELD_REMOVED", old.Name+"."+f.Name, "The field %s was removed from %s.", f.Name, old.Name)
	}
	for _, f := range p.added {
		at := old.Name + "." + f.Name
		if f.Type.NonNull && f.DefaultValue == nil {
			d.add(Breaking, "REQUIRED_INPUT_FIELD_ADDED", at, "The required field %s was added to %s.", f.Name, old.Name)
			continue
		}
		d.add(Dangerous, "OPTIONAL_INPUT_FIELD_ADDED", at, "The optional field %s was added to %s.", f.Name, old.Name)
	}
	for _, f := range p.kept {
		at := old.Name + "." + f.old.Name
		d.input(at, inputFields, input{f.old.Type, f.old.DefaultValue}, input{f.new.Type, f.new.DefaultValue})
		d.description(at, f.old.Description, f.new.Description)
		d.deprecation(at, f.old.Directives, f.new.Directives)
		d.constraint(at, f.old.Directives.ForName("constraint"), f.new.Directives.ForName("constraint"))
	}
}

// inputKinds are the words for what may happen to something that callers give.
type inputKinds struct{ requiredAdded, optionalAdded, removed, changed, changedSafe, byDefault, defaultAdded string }

var (
	fieldArguments     = inputKinds{"REQUIRED_ARG_ADDED", "OPTIONAL_ARG_ADDED", "ARG_REMOVED", "ARG_CHANGED_KIND", "ARG_CHANGED_KIND_SAFE", "ARG_DEFAULT_VALUE_CHANGE", "ARG_DEFAULT_VALUE_ADDED"}
	directiveArguments = inputKinds{"REQUIRED_DIRECTIVE_ARG_ADDED", "OPTIONAL_DIRECTIVE_ARG_ADDED", "DIRECTIVE_ARG_REMOVED", "ARG_CHANGED_KIND", "ARG_CHANGED_KIND_SAFE", "ARG_DEFAULT_VALUE_CHANGE", "ARG_DEFAULT_VALUE_ADDED"}
	inputFields        = inputKinds{"", "", "", "FIELD_CHANGED_KIND", "FIELD_CHANGED_KIND_SAFE", "INPUT_FIELD_DEFAULT_VALUE_CHANGE", "INPUT_FIELD_DEFAULT_VALUE_ADDED"}
)

func (d *differ) arguments(owner string, old, new ast.ArgumentDefinitionList, kinds inputKinds) {
	p := match(slices.Values(old), slices.Values(new), nameOfArgument)
	at := func(a *ast.ArgumentDefinition) string { return owner + "(" + a.Name + ":)" }
	for _, a := range p.removed {
		d.add(Breaking, kinds.removed, at(a), "The argument %s was removed from %s.", a.Name, owner)
	}
	for _, a := range p.added {
		switch {
		case a.Type.NonNull && a.DefaultValue == nil:
			d.add(Breaking, kinds.requiredAdded, at(a), "The required argument %s was added to %s.", a.Name, owner)
		case kinds == directiveArguments:
			d.add(Safe, kinds.optionalAdded, at(a), "The optional argument %s was added to %s.", a.Name, owner)
		default:
			d.add(Dangerous, kinds.optionalAdded, at(a), "The optional argument %s was added to %s.", a.Name, owner)
		}
	}
	for _, a := range p.kept {
		d.input(at(a.old), kinds, input{a.old.Type, a.old.DefaultValue}, input{a.new.Type, a.new.DefaultValue})
		d.description(at(a.old), a.old.Description, a.new.Description)
		d.deprecation(at(a.old), a.old.Directives, a.new.Directives)
	}
}

// input is an argument or an input field.
type input struct {
	typ      *ast.Type
	fallback *ast.Value
}

// input compares something that callers give. A change of type that is not
// safe hides what happened to the default, as graphql-js has it.
func (d *differ) input(at string, kinds inputKinds, old, new input) {
	was, is := canonical(old.fallback), canonical(new.fallback)
	switch {
	case !inputsStillFit(old.typ, new.typ):
		d.add(Breaking, kinds.changed, at, "The type of %s changed from %s to %s.", at, old.typ, new.typ)
	case was != "" && is == "":
		d.add(Dangerous, kinds.byDefault, at, "The default of %s, which was %s, was removed.", at, was)
	case was != "" && was != is:
		d.add(Dangerous, kinds.byDefault, at, "The default of %s changed from %s to %s.", at, was, is)
	case was != is:
		d.add(Safe, kinds.defaultAdded, at, "%s has the default %s now.", at, is)
	case was == "" && old.typ.String() != new.typ.String():
		d.add(Safe, kinds.changedSafe, at, "The type of %s changed from %s to %s.", at, old.typ, new.typ)
	}
}

// canonical prints a literal with the fields of its objects in order.
func canonical(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return printValue(sorted(v))
}

func sorted(v *ast.Value) *ast.Value {
	if len(v.Children) == 0 {
		return v
	}
	c := *v
	c.Children = nil
	for _, child := range v.Children {
		c.Children = append(c.Children, &ast.ChildValue{Name: child.Name, Value: sorted(child.Value)})
	}
	if v.Kind == ast.ObjectValue {
		slices.SortStableFunc(c.Children, func(a, b *ast.ChildValue) int { return cmp.Compare(a.Name, b.Name) })
	}
	return &c
}

// answersStillFit reports whether every value of the new type is one of the old.
func answersStillFit(old, new *ast.Type) bool {
	switch {
	case old.NonNull:
		return new.NonNull && answersStillFit(nullable(old), nullable(new))
	case new.NonNull:
		return answersStillFit(old, nullable(new))
	case old.Elem != nil:
		return new.Elem != nil && answersStillFit(old.Elem, new.Elem)
	}
	return new.Elem == nil && old.NamedType == new.NamedType
}

// inputsStillFit reports whether every value of the old type is one of the new.
func inputsStillFit(old, new *ast.Type) bool {
	switch {
	case new.NonNull:
		return old.NonNull && inputsStillFit(nullable(old), nullable(new))
	case old.NonNull:
		return inputsStillFit(nullable(old), new)
	case old.Elem != nil:
		return new.Elem != nil && inputsStillFit(old.Elem, new.Elem)
	}
	return new.Elem == nil && old.NamedType == new.NamedType
}

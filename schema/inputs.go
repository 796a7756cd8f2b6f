package schema

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// comparableFields are those that lists can be filtered and ordered by: the indexed
// ones, less those whose reading has a rule of its own, since an order or a
// filter would reveal their values.
func comparableFields(r *Resource) []*Field {
	var fields []*Field
	for _, field := range r.Fields {
		if field.Indexed && field.Auth[Read] == nil {
			fields = append(fields, field)
		}
	}
	return fields
}

func (e *expansion) addFilter(r *Resource) {
	name := r.Name + "Filter"
	list := ast.ListType(ast.NonNullNamedType(name, nil), nil)
	def := &ast.Definition{Kind: ast.InputObject, Name: name,
		Description: "Chooses " + r.Name + " records. Everything that is given must hold.",
		Fields: ast.FieldList{
			{Name: "and", Type: list, Description: "All of these must hold."},
			{Name: "or", Type: list, Description: "One of these must hold."},
			{Name: "not", Type: ast.NamedType(name, nil), Description: "This must not hold."},
		}}
	for _, field := range comparableFields(r) {
		filter := filterDefinition(field)
		def.Fields = append(def.Fields, &ast.FieldDefinition{
			Name: field.Name, Type: ast.NamedType(filter.Name, nil), Description: e.description(r, field), Directives: e.deprecation(r, field)})
		if authored := e.compiler.types[filter.Name] != nil; authored || e.types[filter.Name] == nil {
			e.add(filter, r)
		}
	}
	e.add(def, r)
}

func (e *expansion) orderFields(r *Resource) *ast.Definition {
	def := &ast.Definition{Kind: ast.Enum, Name: r.Name + "OrderField", Description: "The fields that " + r.Name + " records can be ordered by."}
	for _, field := range comparableFields(r) {
		def.EnumValues = append(def.EnumValues, &ast.EnumValueDefinition{Name: field.Name, Description: e.description(r, field), Directives: e.deprecation(r, field)})
	}
	return def
}

// createInput holds what a caller may give a new record.
func (e *expansion) createInput(r *Resource) *ast.Definition {
	def := &ast.Definition{Kind: ast.InputObject, Name: "Create" + r.Name + "Input", Description: "A new " + r.Name + "."}
	for _, field := range r.Fields {
		if !field.Stored() || field.OnCreate || field.Name == "id" && field != r.Owner {
			continue
		}
		input := e.inputField(e.declaration(r, field))
		if field == r.Owner {
			input.Type = nullable(field.Type)
			input.Description = strings.TrimSpace(input.Description + "\nThe caller's own subject when it is not given; only administrators and services may give another.")
		}
		def.Fields = append(def.Fields, input)
	}
	if len(def.Fields) == 0 {
		e.at(e.compiler.types[r.Name].Position, "add a field to store", "the resource %s has nothing that could be stored", r.Name)
	}
	return def
}

// updateInput holds the id and what may change; what is left out stays.
func (e *expansion) updateInput(r *Resource) *ast.Definition {
	def := &ast.Definition{Kind: ast.InputObject, Name: "Update" + r.Name + "Input",
		Description: "Changes of a " + r.Name + ": fields that are not given stay as they are.",
		Fields:      ast.FieldList{{Name: "id", Type: ast.NonNullNamedType("ID", nil), Description: "The id of the record to change."}}}
	for _, field := range r.Fields {
		if !field.Stored() || field.OnCreate || field.Name == "id" {
			continue
		}
		input := e.inputField(e.declaration(r, field))
		input.Type, input.DefaultValue = nullable(input.Type), nil
		input.Directives = append(input.Directives.ForNames("constraint"), e.declaration(r, field).Directives.ForNames("soap")...)
		input.Directives = append(input.Directives, e.deprecation(r, field)...)
		def.Fields = append(def.Fields, input)
	}
	if r.Version != nil {
		def.Fields = append(def.Fields, &ast.FieldDefinition{Name: ExpectedVersion, Type: ast.NamedType("Int", nil),
			Description: "The version that the record is expected to have: if it has another one, it is not changed (`CONFLICT`)."})
	}
	return def
}

// deprecation is the field's @deprecated, for what is generated of it.
func (e *expansion) deprecation(r *Resource, field *Field) ast.DirectiveList {
	return e.declaration(r, field).Directives.ForNames("deprecated")
}

func (e *expansion) declaration(r *Resource, field *Field) *ast.FieldDefinition {
	return e.compiler.types[r.Name].Fields.ForName(field.Name)
}

func (e *expansion) description(r *Resource, field *Field) string {
	return e.declaration(r, field).Description
}

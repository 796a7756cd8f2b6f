package schema

import (
	"strings"
	"text/template"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// foresee makes the names of the types that the service will generate known, so
// that fields written by hand can have them. The inputs of embedded types are
// there whole; of the others it is enough that they exist.
func (c *compiler) foresee() {
	if len(c.resourceTypes()) == 0 {
		return
	}
	c.foreseeText(sharedText)
	filters := []string{"String", "Int", "Float", "Boolean", "ID", "DateTime", "Date", "UUID"}
	for _, name := range c.names {
		if c.types[name].Kind == ast.Enum {
			filters = append(filters, name)
		}
	}
	for _, name := range filters {
		c.stub(ast.InputObject, name+"Filter")
	}
	expansion := template.Must(template.New("expansion").Parse(expansionText))
	for _, def := range c.resourceTypes() {
		var text strings.Builder
		data := map[string]any{"Name": def.Name, "Singular": "record", "Plural": "records", "Default": 0, "Most": 0, "Version": nil}
		if err := expansion.Execute(&text, data); err != nil {
			panic("schema: the built-in expansion is wrong: " + err.Error())
		}
		c.foreseeText(text.String())
		for _, name := range historyTypes(def.Name) {
			if c.types[name] == nil {
				c.stub(ast.Object, name)
			}
		}
		c.stub(ast.InputObject, def.Name+"Filter")
		c.stub(ast.Enum, def.Name+"OrderField")
		c.stub(ast.InputObject, "Create"+def.Name+"Input")
		c.stub(ast.InputObject, "Update"+def.Name+"Input")
	}
	for name := range c.embedded {
		c.generated[inputName(name)] = c.embeddedInput(c.types[name])
	}
}

func (c *compiler) foreseeText(text string) {
	doc, err := parser.ParseSchema(&ast.Source{Input: text, BuiltIn: true})
	if err != nil {
		panic("schema: the built-in expansion is wrong: " + err.Error())
	}
	for _, def := range doc.Definitions {
		if !isRoot(def.Name) {
			c.generated[def.Name] = def
		}
	}
}

// stub enters a type of which only the name and the kind are known yet.
func (c *compiler) stub(kind ast.DefinitionKind, name string) {
	c.generated[name] = stubOf(&ast.Definition{Kind: kind, Name: name})
	c.stubs[name] = true
}

// stubOf returns the least definition of a type's name and kind.
func stubOf(def *ast.Definition) *ast.Definition {
	stub := &ast.Definition{Kind: def.Kind, Name: def.Name}
	if def.Kind == ast.Enum {
		stub.EnumValues = ast.EnumValueList{{Name: "id"}}
	} else {
		stub.Fields = ast.FieldList{{Name: "id", Type: ast.NamedType("Int", nil)}}
	}
	return stub
}

// embeddedInput returns the input type for values of an embedded type: the same
// fields, or for an interface or a union one field for each member.
func (c *compiler) embeddedInput(def *ast.Definition) *ast.Definition {
	input := &ast.Definition{Kind: ast.InputObject, Name: inputName(def.Name), Description: def.Description}
	if def.Kind != ast.Object {
		input.Directives = ast.DirectiveList{{Name: "oneOf"}}
		input.Description = strings.TrimSpace(input.Description + "\nExactly one field is given.")
		for _, member := range c.membersOf(def) {
			if !c.embedded[member.Name] || input.Fields.ForName(lowerFirst(member.Name)) != nil {
				continue // reported with the type
			}
			input.Fields = append(input.Fields, &ast.FieldDefinition{
				Name: lowerFirst(member.Name), Type: ast.NamedType(inputName(member.Name), nil), Description: member.Description})
		}
		if len(input.Fields) == 0 {
			c.stub(ast.InputObject, input.Name)
			return c.generated[input.Name]
		}
		return input
	}
	for _, field := range def.Fields {
		input.Fields = append(input.Fields, c.inputField(field))
	}
	return input
}

// inputField is a stored field as a field of an input: with its description,
// constraint, default, name in SOAP and, unless it must be given, deprecation.
func (c *compiler) inputField(field *ast.FieldDefinition) *ast.FieldDefinition {
	input := &ast.FieldDefinition{Name: field.Name, Type: c.inputType(field.Type), Description: field.Description, DefaultValue: defaultLiteral(field)}
	for _, directive := range field.Directives {
		switch directive.Name {
		case "constraint", "soap":
			input.Directives = append(input.Directives, directive)
		case "deprecated":
			if !input.Type.NonNull || input.DefaultValue != nil {
				input.Directives = append(input.Directives, directive)
			}
		}
	}
	return input
}

// inputType is the type by which values of a stored type are given.
func (c *compiler) inputType(typ *ast.Type) *ast.Type {
	if !c.embedded[typ.Name()] {
		return typ
	}
	input := *typ
	if typ.Elem != nil {
		input.Elem = c.inputType(typ.Elem)
	} else {
		input.NamedType = inputName(typ.NamedType)
	}
	return &input
}

// defaultLiteral is what @default says, as a list where the field is one; nil
// when the field has none.
func defaultLiteral(field *ast.FieldDefinition) *ast.Value {
	directive := field.Directives.ForName("default")
	if directive == nil || directive.Arguments.ForName("value") == nil {
		return nil
	}
	return asList(directive.Arguments.ForName("value").Value, field.Type)
}

// asList wraps a single value in as many lists as its type has.
func asList(value *ast.Value, typ *ast.Type) *ast.Value {
	if typ.Elem == nil || value.Kind == ast.ListValue || value.Kind == ast.NullValue {
		return value
	}
	inner := asList(value, typ.Elem)
	return &ast.Value{Kind: ast.ListValue, Children: ast.ChildValueList{{Value: inner}}, Position: value.Position}
}

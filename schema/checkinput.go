package schema

import "github.com/vektah/gqlparser/v2/ast"

// checkInput reports what GraphQL forbids in an input type and gqlparser lets pass.
func (c *compiler) checkInput(def *ast.Definition) {
	oneOf := def.Directives.ForName("oneOf") != nil
	for _, field := range def.Fields {
		place := def.Name + "." + field.Name
		c.checkDeprecation(place, field.Type, field.DefaultValue, field.Directives)
		switch {
		case oneOf && field.Type.NonNull:
			c.at(field.Position, "remove the `!`", "%s must be nullable, because exactly one field of a @oneOf input is given", place)
		case oneOf && field.DefaultValue != nil:
			c.at(field.Position, "remove the default", "%s cannot have a default, because exactly one field of a @oneOf input is given", place)
		}
	}
}

// checkDeprecation reports @deprecated on what callers have to give.
func (c *compiler) checkDeprecation(place string, typ *ast.Type, value *ast.Value, directives ast.DirectiveList) {
	if directive := directives.ForName("deprecated"); directive != nil && typ.NonNull && value == nil {
		c.at(directive.Position, "make it nullable or give it a default first", "%s is required, so it cannot be deprecated", place)
	}
}

// checkEmbeddedField looks at a directive on a field of a type that is stored
// inside of records.
func (c *compiler) checkEmbeddedField(def *ast.Definition, field *ast.FieldDefinition, directive *ast.Directive) {
	place := def.Name + "." + field.Name
	switch directive.Name {
	case "constraint", "default":
		if def.Kind == ast.Interface {
			c.at(directive.Position, "put it on the fields of the types that implement "+def.Name, "@%s on the interface field %s would have no effect", directive.Name, place)
		}
	case "auth":
		c.at(directive.Position, "put the rule on the resource's field that holds the "+def.Name, "%s is a part of a stored value: it cannot have a rule of its own", place)
	case "unique", "index":
		c.at(directive.Position, "store what is searched by in a field of the resource itself", "@%s on %s, which is inside of a stored value", directive.Name, place)
	case "owner", "timestamp", "version":
		c.at(directive.Position, "put it on a field of the resource itself", "@%s on %s, which is inside of a stored value", directive.Name, place)
	case "belongsTo", "hasMany":
		c.at(directive.Position, "put the relation and its key on the resource, or make a resource of "+def.Name, "@%s on %s, which is inside of a stored value", directive.Name, place)
	}
}

// checkInterfaces reports a field that callers may be refused, and so is
// nullable in the contract, where an interface promises a value.
func (c *compiler) checkInterfaces(def *ast.Definition, r *Resource) {
	for _, name := range def.Interfaces {
		for _, promised := range c.types[name].Fields {
			field := r.Field(promised.Name)
			if field != nil && field.Auth[Read] != nil && promised.Type.NonNull {
				c.at(promised.Position, "remove the `!`", "%s.%s can be refused and is null then, but the interface %s promises a value", r.Name, field.Name, name)
			}
		}
	}
}

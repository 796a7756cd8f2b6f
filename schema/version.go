package schema

import (
	"encoding/json"

	"github.com/vektah/gqlparser/v2/ast"
)

// ExpectedVersion is the member of the inputs of updates and deletes that says
// which version the record must have, for resources with a Version.
const ExpectedVersion = "expectedVersion"

// version compiles @version. A record that was stored before its type had one
// has the version 0.
func (c *compiler) version(r *Resource, field *Field, def *ast.FieldDefinition, directive *ast.Directive) {
	if field.Kind == KindObject {
		return // reported with the relation
	}
	if def.Type.String() != "Int!" {
		c.at(directive.Position, "declare `"+def.Name+": Int!`", "@version on %s, which has the type %s", def.Name, def.Type)
	}
	if r.Version != nil {
		c.at(directive.Position, "keep one of them", "%s counts its versions twice, in %s and in %s", r.Name, r.Version.Name, field.Name)
		return
	}
	for _, other := range def.Directives {
		switch other.Name {
		case "owner", "unique", "default", "timestamp", "constraint":
			c.at(other.Position, "remove @"+other.Name, "@%s on %s: the service counts it", other.Name, def.Name)
		}
	}
	if other := c.types[r.Name].Fields.ForName(ExpectedVersion); other != nil {
		c.at(other.Position, "rename the field", "%s.%s has the name by which inputs say what they expect of %s", r.Name, other.Name, def.Name)
	}
	r.Version = field
	field.OnCreate, field.OnUpdate, field.Default = true, true, json.RawMessage("0")
	for action := range field.Auth {
		if Action(action) != Read {
			field.Auth[action] = nil // nobody sets it
		}
	}
}

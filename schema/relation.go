package schema

import (
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// relation compiles @belongsTo or @hasMany; other fields it leaves alone.
func (c *compiler) relation(m *Model, r *Resource, field *Field, def *ast.FieldDefinition) {
	one, many := def.Directives.ForName("belongsTo"), def.Directives.ForName("hasMany")
	directive := one
	if many != nil {
		directive = many
	}
	if directive == nil {
		return
	}
	if one != nil && many != nil {
		c.at(many.Position, "keep one of them", "%s has both @belongsTo and @hasMany", def.Name)
		return
	}
	field.Relation = &Relation{Many: many != nil, Field: stringArg(directive, "field")}
	for _, other := range def.Directives {
		switch other.Name {
		case "owner", "unique", "index", "default", "timestamp", "version", "constraint":
			c.at(other.Position, "put it on the field that holds the key, or remove it",
				"@%s on the relation %s, which is not stored", other.Name, def.Name)
		}
	}
	target := m.resources[def.Type.Name()]
	if named := c.types[def.Type.Name()]; named != nil && named.IsAbstractType() {
		c.at(def.Position, abstractRemedy(c, m, field, named),
			"the relation %s has the type %s, but an id does not say of which type the record is", def.Name, def.Type)
		return
	}
	if target == nil {
		c.at(def.Position, "point at a type with @resource", "the relation %s has the type %s, which is no resource", def.Name, def.Type)
		return
	}
	field.Relation.Target = target
	if field.Relation.Many {
		c.hasMany(m, r, field, def)
		return
	}
	c.belongsTo(r, field, def)
}

// abstractRemedy says what to write instead of a relation to an interface or a
// union: one to each of its resources.
func abstractRemedy(c *compiler, m *Model, field *Field, abstract *ast.Definition) string {
	for _, member := range c.membersOf(abstract) {
		if m.resources[member.Name] == nil {
			continue
		}
		key, name := lowerFirst(member.Name)+"Id", lowerFirst(member.Name)
		if field.Relation.Many {
			return "write one relation for each resource, such as " + name + "s(limit: Int = " + strconv.Itoa(c.pages.Default) + "): [" + member.Name + "!]! @hasMany(field: \"…\")"
		}
		return "write one relation for each resource, such as " + name + ": " + member.Name + " @belongsTo(field: \"" + key + "\") beside " + key + ": ID"
	}
	return "point at a type with @resource"
}

func (c *compiler) belongsTo(r *Resource, field *Field, def *ast.FieldDefinition) {
	directive := def.Directives.ForName("belongsTo")
	switch {
	case def.Type.Elem != nil:
		c.at(def.Position, "give the field the type "+def.Type.Name()+", or use @hasMany", "%s belongs to one record but is a list", def.Name)
	case def.Type.NonNull:
		c.at(def.Position, "remove the `!`: the record may have been deleted", "the relation %s cannot be non-null", def.Name)
	}
	if len(def.Arguments) > 0 {
		c.at(def.Arguments[0].Position, "remove the arguments", "%s belongs to one record, so it takes no arguments", def.Name)
	}
	c.key(r, field, directive, "field")
	c.onDelete(r, field, directive)
}

func (c *compiler) hasMany(m *Model, r *Resource, field *Field, def *ast.FieldDefinition) {
	directive, relation := def.Directives.ForName("hasMany"), field.Relation
	switch {
	case def.Type.Elem == nil:
		c.at(def.Position, "write ["+def.Type.Name()+"!]!, or use @belongsTo", "%s has many records but is no list", def.Name)
	case def.Type.Elem.Elem != nil || !def.Type.Elem.NonNull:
		c.at(def.Position, "write ["+def.Type.Name()+"!]!", "the items of %s can be null, but a missing record is left out", def.Name)
	}
	c.limit(relation, def)

	through, targetField := stringArg(directive, "through"), stringArg(directive, "target")
	if through == "" && targetField == "" {
		c.key(relation.Target, field, directive, "field")
		return
	}
	if through == "" || targetField == "" {
		c.at(directive.Position, `write @hasMany(through: "…", field: "…", target: "…")`, "%s needs both through and target, or neither", def.Name)
		return
	}
	relation.Through, relation.TargetField = m.resources[through], targetField
	if relation.Through == nil {
		c.at(argPosition(directive, "through"), "name a type with @resource", "%s goes through %s, which is no resource", def.Name, through)
		return
	}
	c.key(relation.Through, field, directive, "field")
	c.key(relation.Through, field, directive, "target")
}

// key finds the field of r that a relation follows, named by an argument of its
// directive, and marks it as indexed.
func (c *compiler) key(r *Resource, relation *Field, directive *ast.Directive, arg string) {
	name, pos := stringArg(directive, arg), argPosition(directive, arg)
	key := r.Field(name)
	switch {
	case key == nil:
		c.at(pos, "add `"+fieldName(name)+": ID` to "+r.Name+" or correct the name", "%s has no field %q", r.Name, name)
		return
	case key.Kind != KindID || key.Type.Elem != nil:
		c.at(pos, "name a field of the type ID", "%s.%s has the type %s, so it cannot hold the id of a record", r.Name, name, key.Type)
		return
	case name == "id" && arg == "target":
		c.at(pos, "name the field of "+r.Name+" that holds the other record's id", "%s.id is the id of %s itself", r.Name, r.Name)
	case key.Auth[Read] != nil && (relation.Auth[Read] == nil || relation.Auth[Read].Roles&^key.Auth[Read].Roles != 0):
		c.at(pos, "give the relation the @auth of "+key.Name+", or a stricter one",
			"the relation %s would reveal %s.%s, which has a rule of its own", relation.Name, r.Name, name)
	}
	key.Indexed = true
}

func fieldName(name string) string {
	if isName(name) {
		return name
	}
	return "authorId"
}

// limit reads the argument that bounds a relation's list.
func (c *compiler) limit(relation *Relation, def *ast.FieldDefinition) {
	remedy := "write " + def.Name + "(limit: Int = " + strconv.Itoa(c.pages.Default) + ")"
	arg := def.Arguments.ForName("limit")
	if arg == nil || arg.Type.Name() != "Int" || arg.Type.Elem != nil || arg.DefaultValue == nil {
		c.at(def.Position, remedy, "the list %s has no argument `limit` with a default", def.Name)
		return
	}
	if len(def.Arguments) > 1 {
		c.at(def.Position, remedy, "the list %s takes no other argument than limit", def.Name)
	}
	limit, err := strconv.Atoi(arg.DefaultValue.Raw)
	if err != nil || limit < 1 || !c.pages.allow(limit) {
		c.at(arg.DefaultValue.Position, c.pages.remedy(), "the list %s cannot show %s records at once", def.Name, arg.DefaultValue.Raw)
	}
	relation.Limit = limit
}

// stringArg returns a directive's string argument, empty when it is not given.
func stringArg(directive *ast.Directive, name string) string {
	if arg := directive.Arguments.ForName(name); arg != nil && arg.Value.Kind != ast.NullValue {
		return arg.Value.Raw
	}
	return ""
}

func argPosition(directive *ast.Directive, name string) *ast.Position {
	if arg := directive.Arguments.ForName(name); arg != nil {
		return arg.Value.Position
	}
	return directive.Position
}

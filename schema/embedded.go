package schema

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Object is a type whose values are stored inside of records: an object type
// without @resource, or an interface or a union of such.
type Object struct {
	Name        string
	Description string
	// Fields of an object type in declared order, all of them stored; nil for an
	// interface or a union.
	Fields []*Field
	// Members are the object types that a value of an interface or a union can
	// have, in the order of their names; nil for an object type. A stored value
	// of an interface or a union names its type by the member "__typename".
	Members []*Object

	fields map[string]*Field
}

// Field returns the field with the given name, nil when there is none.
func (o *Object) Field(name string) *Field { return o.fields[name] }

// Abstract reports whether the type is an interface or a union.
func (o *Object) Abstract() bool { return len(o.Members) > 0 }

// Input is the name of the contract's input type: AddressInput. Where the type
// is abstract its fields are the Keys of the members, and it is @oneOf.
func (o *Object) Input() string { return inputName(o.Name) }

// Key names an object type in the input of the interfaces and unions that it
// belongs to: image for Image.
func (o *Object) Key() string { return lowerFirst(o.Name) }

func inputName(typ string) string { return typ + "Input" }

// findEmbedded collects the declared types whose values are stored inside of
// records: what resources reach by fields that are no relations.
func (c *compiler) findEmbedded() {
	for _, def := range c.resourceTypes() {
		c.embedFields(def)
	}
}

func (c *compiler) embedFields(def *ast.Definition) {
	for _, field := range def.Fields {
		if field.Directives.ForName("belongsTo") == nil && field.Directives.ForName("hasMany") == nil {
			c.embed(c.types[field.Type.Name()])
		}
	}
}

func (c *compiler) embed(def *ast.Definition) {
	if def == nil || c.embedded[def.Name] || isRoot(def.Name) || c.isResource(def.Name) {
		return
	}
	switch def.Kind {
	case ast.Object:
		c.embedded[def.Name] = true
		c.embedFields(def)
	case ast.Interface, ast.Union:
		c.embedded[def.Name] = true
		for _, member := range c.membersOf(def) {
			c.embed(member)
		}
	}
}

// membersOf returns the object types of an interface or a union, in the order
// of their names.
func (c *compiler) membersOf(def *ast.Definition) []*ast.Definition {
	var members []*ast.Definition
	for _, name := range c.names {
		typ := c.types[name]
		if typ.Kind == ast.Object && (slices.Contains(def.Types, name) || slices.Contains(typ.Interfaces, def.Name)) {
			members = append(members, typ)
		}
	}
	return members
}

// object compiles a type that is stored inside of records. A type that reaches
// itself gets the same Object.
func (c *compiler) object(def *ast.Definition) *Object {
	if o := c.objects[def.Name]; o != nil {
		return o
	}
	o := &Object{Name: def.Name, Description: def.Description, fields: map[string]*Field{}}
	c.objects[def.Name] = o
	if def.Kind != ast.Object {
		c.members(o, def)
		return o
	}
	for _, fieldDef := range def.Fields {
		field := c.field(fieldDef)
		o.Fields = append(o.Fields, field)
		o.fields[field.Name] = field
	}
	return o
}

func (c *compiler) members(o *Object, def *ast.Definition) {
	keys := map[string]string{}
	members := c.membersOf(def)
	for _, member := range members {
		if c.isResource(member.Name) || isRoot(member.Name) {
			c.at(def.Position, "leave "+member.Name+" out of it, or store the id of a record",
				"values of %s are stored inside of records, but %s belongs to it, which is no part of a record", def.Name, member.Name)
			continue
		}
		key := lowerFirst(member.Name)
		if other := keys[key]; other != "" {
			c.at(member.Position, "rename one", "%s and %s of %s would both be called %s in its input", other, member.Name, def.Name, key)
		}
		keys[key] = member.Name
		o.Members = append(o.Members, c.object(member))
	}
	if len(members) == 0 {
		c.at(def.Position, "declare a type that implements it", "there is no object type of the interface %s, so that nothing could be stored", def.Name)
	}
}

// checkEndless reports object types of which no value can be finite.
func (c *compiler) checkEndless() {
	for _, name := range c.names {
		if o := c.objects[name]; o != nil && c.requires(o, o, map[*Object]bool{}) {
			c.at(c.types[name].Position, "remove a `!` on the way", "a value of %s would have to hold another %s without end", name, name)
		}
	}
}

// requires reports whether every value of o holds one of target.
func (c *compiler) requires(o, target *Object, seen map[*Object]bool) bool {
	if seen[o] {
		return false
	}
	seen[o] = true
	for _, f := range o.Fields {
		if f.Object != nil && f.Type.NonNull && f.Type.Elem == nil && f.Default == nil && (f.Object == target || c.requires(f.Object, target, seen)) {
			return true
		}
	}
	return false
}

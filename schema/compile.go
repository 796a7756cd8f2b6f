package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// compile builds the resources. Stored fields come first, since relations name
// fields of other resources.
func (c *compiler) compile() *Model {
	model := &Model{resources: map[string]*Resource{}, roots: map[string]*Root{}, functions: map[string]*Rule{}, replaced: map[string]string{},
		bindings: map[string]*Binding{}}
	for _, def := range c.resourceTypes() {
		resource := c.resource(def)
		model.Resources = append(model.Resources, resource)
		model.resources[def.Name] = resource
	}
	if all := c.resourceTypes(); len(all) > 0 {
		model.First = model.resources[slices.MinFunc(all, declaredBefore).Name]
	}
	for _, def := range c.resourceTypes() {
		for i, field := range def.Fields {
			c.relation(model, model.resources[def.Name], model.resources[def.Name].Fields[i], field)
		}
	}
	c.references(model)
	c.checkEndless()
	for _, def := range c.resourceTypes() {
		c.checkOwnerRules(def, model.resources[def.Name])
	}
	for _, root := range rootNames() {
		if def := c.types[root]; def != nil {
			c.functions(model, def)
		}
	}
	c.checkSOAP(model)
	return model
}

// functions keeps the rules of the root fields that were written by hand.
func (c *compiler) functions(m *Model, root *ast.Definition) {
	for _, field := range root.Fields {
		if rules := c.rules(field.Directives, everyAction); rules[Read] != nil {
			m.functions[root.Name+"."+field.Name] = rules[Read]
		}
	}
}

// resource compiles a type and its stored fields.
func (c *compiler) resource(def *ast.Definition) *Resource {
	r := &Resource{
		Name: def.Name, Singular: lowerFirst(def.Name), Description: def.Description,
		fields: map[string]*Field{},
	}
	r.Plural = c.plural(def, r.Singular)
	r.OnSlow = slowOf(def.Directives.ForName("resource"), "onSlow")
	r.History = c.history(def)
	rules := c.rules(def.Directives, everyAction)
	for action, rule := range rules {
		r.Auth[action] = Rule{Admin | Service}
		if rule != nil {
			r.Auth[action] = *rule
		}
	}
	for _, fieldDef := range def.Fields {
		field := c.field(fieldDef)
		r.Fields = append(r.Fields, field)
		r.fields[field.Name] = field
		if field.Kind != KindObject && fieldDef.Directives.ForName("owner") != nil {
			c.owner(r, field, fieldDef)
		}
		if directive := fieldDef.Directives.ForName("version"); directive != nil {
			c.version(r, field, fieldDef, directive)
		}
	}
	c.checkID(def, r)
	c.checkInterfaces(def, r)
	c.checkResourceName(def, r)
	return r
}

// declaredBefore orders types by their files and lines.
func declaredBefore(a, b *ast.Definition) int {
	return cmp.Or(cmp.Compare(a.Position.Src.Name, b.Position.Src.Name), cmp.Compare(a.Position.Start, b.Position.Start))
}

func (c *compiler) plural(def *ast.Definition, singular string) string {
	directive := def.Directives.ForName("resource")
	plural := pluralOf(singular)
	pos := directive.Position
	if arg := directive.Arguments.ForName("plural"); arg != nil && arg.Value.Kind != ast.NullValue {
		plural, pos = arg.Value.Raw, arg.Value.Position
	}
	switch {
	case !isName(plural):
		c.at(pos, `write a name such as @resource(plural: "people")`, "%q cannot be the plural of %s", plural, def.Name)
	case plural == singular:
		c.at(pos, `name another one by @resource(plural: "…")`, "the plural of %s equals its singular %s", def.Name, singular)
	}
	return plural
}

// checkResourceName keeps the names on the bus and in change types apart.
func (c *compiler) checkResourceName(def *ast.Definition, r *Resource) {
	if first := def.Name[0]; first < 'A' || first > 'Z' {
		c.at(def.Position, "begin the type's name with a capital letter, such as User", "%s cannot name a resource", def.Name)
	}
	switch r.Singular {
	case "kind", "id", "at", "cursor":
		c.at(def.Position, "rename the type", "%s cannot name a resource: every change has a field %s already", def.Name, r.Singular)
	}
}

func (c *compiler) checkID(def *ast.Definition, r *Resource) {
	id := def.Fields.ForName("id")
	switch {
	case id == nil:
		c.at(def.Position, "add the field `id: ID!`", "the resource %s has no id", def.Name)
	case id.Type.String() != "ID!":
		c.at(id.Position, "declare `id: ID!`", "the id of %s has the type %s", def.Name, id.Type)
	}
	if id == nil {
		return
	}
	for _, directive := range id.Directives {
		switch directive.Name {
		case "auth":
			c.at(directive.Position, "put the rule on the type", "the id of %s cannot have a rule of its own", def.Name)
		case "default", "constraint", "timestamp", "version":
			c.at(directive.Position, "remove the directive", "@%s has no effect on an id: the service makes it", directive.Name)
		}
	}
	if field := r.Field("id"); field != nil {
		field.Indexed, field.Unique = true, true
	}
}

func (c *compiler) owner(r *Resource, field *Field, def *ast.FieldDefinition) {
	directive := def.Directives.ForName("owner")
	if r.Owner != nil {
		c.at(directive.Position, "keep @owner on one field", "%s has two owner fields, %s and %s", r.Name, r.Owner.Name, field.Name)
		return
	}
	if def.Type.Elem != nil || def.Type.NamedType != "ID" {
		c.at(directive.Position, "give the field the type ID", "@owner on %s, which has the type %s: it holds a subject", field.Name, def.Type)
	}
	r.Owner = field
	field.Indexed = true
}

// field compiles what does not depend on other resources.
func (c *compiler) field(def *ast.FieldDefinition) *Field {
	field := &Field{Name: def.Name, Type: def.Type, Position: def.Position, Kind: KindObject, Auth: c.rules(def.Directives, fieldActions(def))}
	field.Auth[Delete] = nil // records are deleted whole: the type's rule decides
	if def.Directives.ForName("belongsTo") != nil || def.Directives.ForName("hasMany") != nil {
		return field // relation compiles it
	}
	c.leaf(field, def)
	if len(def.Arguments) > 0 {
		c.at(def.Arguments[0].Position, "remove the arguments", "the stored field %s takes no arguments", def.Name)
	}
	field.Unique = def.Directives.ForName("unique") != nil
	field.Indexed = field.Unique || def.Directives.ForName("index") != nil
	field.Constraint = c.constraint(field, def.Directives.ForName("constraint"))
	c.timestamp(field, def)
	c.checkIndexed(field, def)
	c.defaultValue(field, def)
	return field
}

// leaf finds the kind of a stored field.
func (c *compiler) leaf(field *Field, def *ast.FieldDefinition) {
	name := def.Type.Name()
	if kind, ok := kinds[name]; ok {
		field.Kind = kind
		if kind == KindCursor {
			c.at(def.Position, "use String or ID", "%s has the type Cursor, which is never stored", def.Name)
		}
		return
	}
	switch target := c.lookup(name); {
	case target.Kind == ast.Enum:
		field.Kind = KindEnum
		for _, value := range target.EnumValues {
			field.Enum = append(field.Enum, value.Name)
		}
	case target.Kind == ast.Scalar && target.Directives.ForName("specifiedBy") != nil:
		field.Kind = KindJSON
	case target.Kind == ast.Scalar:
		c.at(def.Position, `declare it with @specifiedBy(url: "…") to store its values unchecked, or use a built-in scalar`,
			"the scalar %s of %s is not known, so its values cannot be checked", name, def.Name)
	case c.embedded[name]:
		field.Kind, field.Object = KindEmbedded, c.object(target)
	default:
		c.at(def.Position, `add @belongsTo(field: "…") or @hasMany(field: "…"), or store the parts as fields of their own`,
			"%s has the object type %s but is no relation", def.Name, name)
	}
}

func (c *compiler) timestamp(field *Field, def *ast.FieldDefinition) {
	directive := def.Directives.ForName("timestamp")
	if directive == nil {
		return
	}
	if def.Type.Elem != nil || field.Kind != KindDateTime {
		c.at(directive.Position, "give the field the type DateTime!", "@timestamp on %s, which has the type %s", def.Name, def.Type)
	}
	if def.Directives.ForName("default") != nil {
		c.at(directive.Position, "keep one of them", "%s has both @timestamp and @default", def.Name)
	}
	if def.Directives.ForName("owner") != nil {
		c.at(directive.Position, "keep one of them", "%s has both @timestamp and @owner", def.Name)
	}
	field.OnCreate = true
	field.OnUpdate = directive.Arguments.ForName("on").Value.Raw == "UPDATE"
}

func (c *compiler) checkIndexed(field *Field, def *ast.FieldDefinition) {
	for _, name := range []string{"unique", "index"} {
		directive := def.Directives.ForName(name)
		switch {
		case directive == nil:
		case def.Type.Elem != nil:
			c.at(directive.Position, "remove @"+name+", or make a resource of the items",
				"@%s on the list %s", name, def.Name)
		case field.Kind == KindEmbedded || field.Kind == KindJSON:
			c.at(directive.Position, "remove @"+name+", and store what is searched by in a scalar field of its own",
				"@%s on %s, whose values have the type %s and cannot be compared", name, def.Name, def.Type.Name())
		}
	}
	if !field.Indexed {
		return
	}
	switch def.Name {
	case "and", "or", "not":
		c.at(def.Position, "rename the field", "the indexed field %s has the name of a word in filters", def.Name)
	case "true", "false", "null":
		c.at(def.Position, "rename the field", "the indexed field %s cannot be named in an order", def.Name)
	}
}

func (c *compiler) defaultValue(field *Field, def *ast.FieldDefinition) {
	directive := def.Directives.ForName("default")
	if directive == nil {
		return
	}
	if field.Unique {
		c.at(directive.Position, "remove @default or @unique", "%s is unique, so one record alone could have its default", def.Name)
	}
	if def.Directives.ForName("owner") != nil {
		c.at(directive.Position, "remove @default", "%s is filled from the caller, a default is never used", def.Name)
	}
	literal := directive.Arguments.ForName("value").Value
	value, err := c.literal(literal, c.inputType(def.Type))
	if err != nil {
		c.at(literal.Position, "give a default of the type "+def.Type.String(), "the default of %s does not fit: %v", def.Name, err)
		return
	}
	if value == nil {
		c.at(literal.Position, "remove @default", "%s is null anyway when nothing is given", def.Name)
		return
	}
	if value, err = field.Parse(value); err != nil {
		c.at(literal.Position, "change the default or the constraint", "the default of %s breaks its own rule: it %v", def.Name, err)
		return
	}
	field.Default, err = json.Marshal(value)
	if err != nil {
		c.at(literal.Position, "give another default", "the default of %s cannot be stored: %v", def.Name, fmt.Errorf("encode default: %w", err))
	}
}

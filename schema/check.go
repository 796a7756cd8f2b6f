package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// checkDocument reports what is wrong with the declarations as GraphQL. After
// it without faults every name resolves and every literal fits its type.
//
// gqlparser validates, too, but stops at the first fault and leaves gaps:
// arguments given or declared twice, literals of the wrong type. So the checks
// that adopters meet are made here, and gqlparser has the last word on the rest
// (interfaces, unions, inputs that hold themselves).
func (c *compiler) checkDocument() {
	c.declare()
	c.findEmbedded()
	c.foresee()
	for _, name := range c.names {
		c.checkType(c.types[name])
	}
	for _, directive := range c.declared {
		c.checkArguments("@"+directive.Name, directive.Arguments)
	}
	if len(c.list) == 0 {
		c.validate()
	}
}

func (c *compiler) checkType(def *ast.Definition) {
	c.checkMembers(def)
	c.checkDirectives(def.Name, def.Directives, ast.DirectiveLocation(def.Kind))
	location := ast.LocationFieldDefinition
	if def.Kind == ast.InputObject {
		location = ast.LocationInputFieldDefinition
	}
	for _, field := range def.Fields {
		place := def.Name + "." + field.Name
		c.checkName(field.Name, field.Position)
		c.checkTypeName(field.Type)
		c.checkDirection(place, def, field)
		c.checkDefault(place, field.DefaultValue, field.Type)
		c.checkDirectives(place, field.Directives, location)
		c.checkArguments(place, field.Arguments)
		c.checkListSize(place, field)
	}
	for _, value := range def.EnumValues {
		c.checkName(value.Name, value.Position)
		c.checkDirectives(def.Name+"."+value.Name, value.Directives, ast.LocationEnumValue)
	}
	if def.Kind == ast.Object || def.Kind == ast.Interface {
		c.checkUse(def)
	}
	if def.Kind == ast.InputObject {
		c.checkInput(def)
	}
}

// checkDirection keeps types for answers out of inputs, and the other way round.
func (c *compiler) checkDirection(place string, def *ast.Definition, field *ast.FieldDefinition) {
	typ := c.lookup(field.Type.Name())
	switch {
	case typ == nil:
	case def.Kind == ast.InputObject && !typ.IsInputType():
		c.at(field.Position, "use a scalar, an enum or an input type", "%s has the type %s, which is for answers only", place, field.Type)
	case def.Kind != ast.InputObject && typ.Kind == ast.InputObject:
		c.at(field.Position, "declare a type with the same fields", "%s has the type %s, which is for inputs only", place, field.Type)
	}
}

func (c *compiler) checkArguments(place string, args ast.ArgumentDefinitionList) {
	names := unique[*ast.ArgumentDefinition]{c, place + " has two arguments"}
	names.check(args, func(arg *ast.ArgumentDefinition) (string, *ast.Position) { return arg.Name, arg.Position })
	for _, arg := range args {
		c.checkName(arg.Name, arg.Position)
		c.checkTypeName(arg.Type)
		if def := c.lookup(arg.Type.Name()); def != nil && !def.IsInputType() {
			c.at(arg.Position, "use a scalar, an enum or an input type", "the argument %s of %s has the type %s, which is for answers only", arg.Name, place, arg.Type)
			continue
		}
		c.checkDefault("the argument "+arg.Name+" of "+place, arg.DefaultValue, arg.Type)
		c.checkDeprecation("the argument "+arg.Name+" of "+place, arg.Type, arg.DefaultValue, arg.Directives)
		c.checkDirectives(place+"."+arg.Name, arg.Directives, ast.LocationArgumentDefinition)
	}
}

func (c *compiler) checkName(name string, pos *ast.Position) {
	if strings.HasPrefix(name, "__") {
		c.at(pos, "choose a name without the two underscores", "the name %s is reserved for introspection", name)
	}
}

func (c *compiler) checkTypeName(typ *ast.Type) {
	for typ.Elem != nil {
		typ = typ.Elem
	}
	if name := typ.NamedType; c.lookup(name) == nil {
		c.at(typ.Position, "declare the type, or correct the name"+c.hint(name), "there is no type %s", name)
	}
}

func (c *compiler) checkDefault(place string, value *ast.Value, typ *ast.Type) {
	if value == nil || c.lookup(typ.Name()) == nil {
		return
	}
	if _, err := c.literal(value, typ); err != nil {
		c.at(value.Position, "give a default of the type "+typ.String(), "the default of %s does not fit: %v", place, err)
	}
}

// checkDirectives checks the directives of one place against their declarations.
func (c *compiler) checkDirectives(place string, list ast.DirectiveList, location ast.DirectiveLocation) {
	c.checkCost(list)
	seen := map[string]bool{}
	for _, directive := range list {
		def := c.directives[directive.Name]
		switch {
		case def == nil:
			c.at(directive.Position, "use one that docs/schema.md describes, or declare it"+c.hint("@"+directive.Name), "there is no directive @%s", directive.Name)
			continue
		case !slices.Contains(def.Locations, location):
			c.at(directive.Position, "move it to where it belongs: "+locations(def), "@%s cannot stand on %s", directive.Name, place)
			continue
		case seen[directive.Name] && !def.IsRepeatable:
			c.at(directive.Position, "keep one of them", "@%s stands twice on %s", directive.Name, place)
		}
		seen[directive.Name] = true
		c.checkDirectiveArguments(directive, def)
	}
}

func locations(def *ast.DirectiveDefinition) string {
	var words []string
	for _, location := range def.Locations {
		words = append(words, strings.ReplaceAll(strings.ToLower(string(location)), "_", " "))
	}
	return strings.Join(words, ", ")
}

func (c *compiler) checkDirectiveArguments(directive *ast.Directive, def *ast.DirectiveDefinition) {
	names := unique[*ast.Argument]{c, "@" + directive.Name + " has two arguments"}
	names.check(directive.Arguments, func(arg *ast.Argument) (string, *ast.Position) { return arg.Name, arg.Position })
	for _, arg := range directive.Arguments {
		argDef := def.Arguments.ForName(arg.Name)
		if argDef == nil {
			c.at(arg.Position, "its arguments are: "+argumentNames(def), "@%s has no argument %s", directive.Name, arg.Name)
			continue
		}
		if c.lookup(argDef.Type.Name()) == nil {
			continue // reported where the directive is declared
		}
		if _, err := c.literal(arg.Value, argDef.Type); err != nil {
			c.at(arg.Value.Position, "give a value of the type "+argDef.Type.String()+c.values(argDef.Type), "the argument %s of @%s does not fit: %v", arg.Name, directive.Name, err)
		}
	}
	for _, argDef := range def.Arguments {
		if argDef.Type.NonNull && argDef.DefaultValue == nil && directive.Arguments.ForName(argDef.Name) == nil {
			c.at(directive.Position, "write @"+directive.Name+"("+argDef.Name+": …)", "@%s needs the argument %s", directive.Name, argDef.Name)
		}
	}
}

func argumentNames(def *ast.DirectiveDefinition) string {
	if len(def.Arguments) == 0 {
		return "none"
	}
	var names []string
	for _, arg := range def.Arguments {
		names = append(names, arg.Name)
	}
	return strings.Join(names, ", ")
}

// values lists what an enum allows, for a remedy.
func (c *compiler) values(typ *ast.Type) string {
	def := c.lookup(typ.Name())
	if def.Kind != ast.Enum {
		return ""
	}
	var names []string
	for _, value := range def.EnumValues {
		names = append(names, value.Name)
	}
	return ": " + strings.Join(names, ", ")
}

// checkUse reports our directives where nothing would come of them.
func (c *compiler) checkUse(def *ast.Definition) {
	if isRoot(def.Name) && def.Directives.ForName("resource") != nil {
		c.at(def.Directives.ForName("resource").Position, "give the resource a type of its own", "the root type %s cannot be a resource", def.Name)
		return
	}
	if c.isResource(def.Name) {
		return
	}
	for _, directive := range def.Directives.ForNames("auth") {
		c.at(directive.Position, "put it on a resource, on a resource's field or on a root field", "@auth on %s, which is no resource, would have no effect", def.Name)
	}
	for _, field := range def.Fields {
		for _, directive := range field.Directives {
			c.checkPlainField(def, field, directive)
		}
	}
}

// checkPlainField looks at a directive on a field of a type that is no resource.
func (c *compiler) checkPlainField(def *ast.Definition, field *ast.FieldDefinition, directive *ast.Directive) {
	if c.embedded[def.Name] {
		c.checkEmbeddedField(def, field, directive)
		return
	}
	switch directive.Name {
	case "owner", "unique", "index", "default", "timestamp", "version", "belongsTo", "hasMany", "constraint":
		remedy := "add @resource to " + def.Name + ", or remove it"
		if def.Kind == ast.Interface {
			remedy = "put it on the fields of the types that implement " + def.Name
		}
		c.at(directive.Position, remedy, "@%s on %s.%s, which is no field of a resource, would have no effect", directive.Name, def.Name, field.Name)
	case "auth":
		switch {
		case !isRoot(def.Name):
			c.at(directive.Position, "put it on a resource, on a resource's field or on a root field", "@auth on %s.%s, which is no field of a resource, would have no effect", def.Name, field.Name)
		case directive.Arguments.ForName("on") != nil:
			c.at(directive.Position, "remove `on`", "%s.%s is a root field: it is called, there are no actions on it", def.Name, field.Name)
		case slices.Contains(words(directive, "requires"), "OWNER"):
			c.at(directive.Position, "name another role", "%s.%s is a root field: nobody owns it", def.Name, field.Name)
		}
	}
}

// validate lets gqlparser check copies of the declarations.
func (c *compiler) validate() {
	doc := preludeDocument()
	doc.Directives = append(doc.Directives, c.declared...)
	for _, name := range c.names {
		def := *c.types[name]
		def.Fields = slices.Clip(def.Fields) // gqlparser appends to Query's
		doc.Definitions = append(doc.Definitions, &def)
	}
	for _, name := range slices.Sorted(maps.Keys(c.generated)) {
		if c.types[name] == nil {
			doc.Definitions = append(doc.Definitions, stubOf(c.generated[name]))
		}
	}
	if _, err := validator.ValidateSchemaDocument(doc); err != nil {
		c.foreign(err, "correct the declaration as the GraphQL specification says")
	}
}

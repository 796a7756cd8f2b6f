package schema

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// SOAP is what @soap says of a type, a field or a root field. The zero value is
// what holds where nothing is said.
type SOAP struct {
	// Name of the operation, the element or the XML Schema type; empty: as derived.
	Name string
	// Hidden: it is not shown, or, on a resource, no operation on it is.
	Hidden bool
	// Include: the related record is shown whole, or the list of them at all.
	Include bool
	// OpenEnum: the enum's values travel as plain text.
	OpenEnum bool
}

// SOAPOf reads @soap, which may be absent.
func SOAPOf(list ast.DirectiveList) SOAP {
	directive := list.ForName("soap")
	if directive == nil {
		return SOAP{}
	}
	is := func(arg, word string) bool {
		a := given(directive, arg)
		return a != nil && a.Value.Raw == word
	}
	return SOAP{Name: stringArg(directive, "name"), Hidden: is("expose", "false"), Include: is("include", "true"), OpenEnum: is("openEnum", "true")}
}

// checkSOAP reports @soap where nothing could come of it.
func (c *compiler) checkSOAP(m *Model) {
	for _, name := range c.names {
		def := c.types[name]
		c.checkSOAPType(def)
		for _, field := range def.Fields {
			if directive := field.Directives.ForName("soap"); directive != nil {
				c.checkSOAPName(directive)
				c.checkSOAPField(m, def, field, directive)
			}
		}
	}
	for _, r := range m.Resources {
		c.checkIncludes(r, r, nil)
	}
}

func (c *compiler) checkSOAPType(def *ast.Definition) {
	directive := def.Directives.ForName("soap")
	if directive == nil {
		return
	}
	c.checkSOAPName(directive)
	soap := SOAPOf(def.Directives)
	switch {
	case isRoot(def.Name):
		c.at(directive.Position, "put it on the root fields", "@soap on %s would have no effect", def.Name)
	case soap.Include:
		c.at(argPosition(directive, "include"), "put it on the field that holds the "+def.Name, "include has no meaning on a type")
	case soap.OpenEnum && def.Kind != ast.Enum:
		c.at(argPosition(directive, "openEnum"), "remove it", "%s is no enum", def.Name)
	case soap.Hidden && !c.isResource(def.Name):
		c.at(argPosition(directive, "expose"), "put it on the fields that have the type", "%s is no resource, so there are no operations on it to hide", def.Name)
	}
}

// checkSOAPName reports names that XML or the clients of SOAP do not take.
func (c *compiler) checkSOAPName(directive *ast.Directive) {
	name := given(directive, "name")
	if name == nil {
		return
	}
	switch text := name.Value.Raw; {
	case !isName(text):
		c.at(name.Value.Position, "use letters, digits and underscores, a letter first", "%q cannot be a name in SOAP", text)
	case strings.HasPrefix(strings.ToLower(text), "xml"):
		c.at(name.Value.Position, "choose another name", "%q cannot be a name in SOAP: those that begin with xml are reserved", text)
	case SOAPOf(ast.DirectiveList{directive}).Hidden:
		c.at(name.Value.Position, "keep one of them", "what is not shown needs no name")
	}
}

// checkSOAPField looks at @soap on a field, whose type is def.
func (c *compiler) checkSOAPField(m *Model, def *ast.Definition, field *ast.FieldDefinition, directive *ast.Directive) {
	soap, place := SOAPOf(field.Directives), def.Name+"."+field.Name
	related := def.Kind == ast.Object && m.resources[field.Type.Name()] != nil && !isRoot(def.Name)
	switch {
	case soap.OpenEnum:
		c.at(argPosition(directive, "openEnum"), "put it on the enum itself", "openEnum has no meaning on the field %s", place)
	case soap.Include && !related:
		c.at(argPosition(directive, "include"), "remove it", "%s holds no related record: include has no meaning there", place)
	case soap.Include && soap.Hidden:
		c.at(argPosition(directive, "include"), "keep one of them", "%s cannot be both shown and hidden", place)
	case def.Name == "Subscription":
		c.at(directive.Position, "remove it", "%s is a subscription, which is no operation of SOAP", place)
	case def.Kind == ast.Interface:
		c.at(directive.Position, "put it on the fields of the types that implement "+def.Name, "@soap on the interface field %s would have no effect", place)
	case soap.Hidden && def.Kind == ast.InputObject && field.Type.NonNull && field.DefaultValue == nil:
		c.at(argPosition(directive, "expose"), "give it a default", "%s must be given, so that it cannot be hidden", place)
	case soap.Hidden && c.isResource(def.Name):
		c.checkHidden(m.resources[def.Name], def, field, directive)
	}
}

// checkHidden reports a hidden field without which records could not be named
// or created.
func (c *compiler) checkHidden(r *Resource, def *ast.Definition, field *ast.FieldDefinition, directive *ast.Directive) {
	pos, f := argPosition(directive, "expose"), r.Field(field.Name)
	switch {
	case f.Name == "id":
		c.at(pos, "remove it", "the id of %s is what its operations name a record by", r.Name)
	case f.Stored() && f.Type.NonNull && f.Default == nil && !f.OnCreate && f != r.Owner && !SOAPOf(def.Directives).Hidden:
		c.at(pos, "give it a @default, or hide the operations by @soap(expose: false) on "+r.Name, "%s.%s must be given to create a %s, so that it cannot be hidden", r.Name, f.Name, r.Name)
	}
}

// checkIncludes reports whole records that would hold each other without end.
func (c *compiler) checkIncludes(start, r *Resource, above []*Resource) {
	for _, other := range above {
		if other == r {
			return
		}
	}
	for _, field := range c.types[r.Name].Fields {
		f := r.Field(field.Name)
		if f.Relation == nil || f.Relation.Many || f.Relation.Target == nil || !SOAPOf(field.Directives).Include {
			continue
		}
		if f.Relation.Target == start {
			c.at(argPosition(field.Directives.ForName("soap"), "include"), "remove one include on the way, or store an operation for the shape that is needed",
				"%s.%s would show a %s inside of a %s, without end", r.Name, f.Name, start.Name, start.Name)
			continue
		}
		c.checkIncludes(start, f.Relation.Target, append(above, r))
	}
}

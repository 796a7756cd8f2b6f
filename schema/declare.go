package schema

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// The bounds of one declaration; gqlparser compares members pair by pair.
const maxMembers = 1000

// declare merges the files' definitions and extensions into one set of types
// and reports names that are taken or reserved.
func (c *compiler) declare() {
	for _, def := range c.doc.Definitions {
		c.declareType(def)
	}
	for _, ext := range c.doc.Extensions {
		c.extend(ext)
	}
	for _, def := range c.doc.Directives {
		c.declareDirective(def)
	}
	c.schemaDefinitions()
	for name := range c.types {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
}

func (c *compiler) declareType(def *ast.Definition) {
	switch {
	case strings.HasPrefix(def.Name, "__"):
		c.at(def.Position, "choose a name without the two underscores", "the type name %s is reserved for introspection", def.Name)
	case c.builtin[def.Name] != nil:
		c.at(def.Position, "remove the declaration, or choose another name", "the type %s is built in", def.Name)
	case c.types[def.Name] != nil:
		c.at(def.Position, "remove one, or write `extend`", "the type %s is declared twice, first in %s", def.Name, place(c.types[def.Name].Position))
	default:
		c.types[def.Name] = def
	}
}

// extend adds an extension's members to its type. The root types need no
// declaration of their own.
func (c *compiler) extend(ext *ast.Definition) {
	def := c.types[ext.Name]
	switch {
	case def == nil && isRoot(ext.Name) && ext.Kind == ast.Object:
		c.types[ext.Name] = ext
		return
	case def == nil:
		c.at(ext.Position, "declare the type, or correct the name"+c.hint(ext.Name), "there is no type %s to extend", ext.Name)
		return
	case def.Kind != ext.Kind:
		c.at(ext.Position, "extend it as what it is", "%s is declared as another kind of type", ext.Name)
		return
	}
	def.Directives = append(def.Directives, ext.Directives...)
	def.Interfaces = append(def.Interfaces, ext.Interfaces...)
	def.Fields = append(def.Fields, ext.Fields...)
	def.EnumValues = append(def.EnumValues, ext.EnumValues...)
	def.Types = append(def.Types, ext.Types...)
	def.TypePositions = append(def.TypePositions, ext.TypePositions...)
}

func (c *compiler) declareDirective(def *ast.DirectiveDefinition) {
	switch known := c.directives[def.Name]; {
	case strings.HasPrefix(def.Name, "__"):
		c.at(def.Position, "choose a name without the two underscores", "the directive name %s is reserved for introspection", def.Name)
	case known != nil && known.Position.Src.BuiltIn:
		c.at(def.Position, "remove the declaration, or choose another name", "the directive @%s is built in", def.Name)
	case known != nil:
		c.at(def.Position, "remove one", "the directive @%s is declared twice, first in %s", def.Name, place(known.Position))
	default:
		c.directives[def.Name] = def
		c.declared = append(c.declared, def)
	}
}

// schemaDefinitions accepts `schema { … }` as long as it says what holds anyway.
func (c *compiler) schemaDefinitions() {
	seen := map[ast.Operation]bool{}
	for i, def := range append(slices.Clone(c.doc.Schema), c.doc.SchemaExtension...) {
		if i > 0 && i < len(c.doc.Schema) {
			c.at(def.Position, "remove all but one", "there are several schema definitions")
		}
		for _, directive := range def.Directives {
			c.at(directive.Position, "remove the directive", "@%s on the schema has no effect", directive.Name)
		}
		for _, operation := range def.OperationTypes {
			if seen[operation.Operation] {
				c.at(operation.Position, "remove one", "the operation type %s is given twice", operation.Operation)
			}
			seen[operation.Operation] = true
			if want := strings.ToUpper(string(operation.Operation[:1])) + string(operation.Operation[1:]); operation.Type != want {
				c.at(operation.Position, "rename the type to "+want, "the root type of %s operations is always %s, not %s", operation.Operation, want, operation.Type)
			}
		}
	}
}

// checkMembers reports names that stand twice in one declaration.
func (c *compiler) checkMembers(def *ast.Definition) {
	fields := unique[*ast.FieldDefinition]{c, def.Name + " has two fields"}
	fields.check(def.Fields, func(f *ast.FieldDefinition) (string, *ast.Position) { return f.Name, f.Position })
	values := unique[*ast.EnumValueDefinition]{c, "the enum " + def.Name + " has two values"}
	values.check(def.EnumValues, func(v *ast.EnumValueDefinition) (string, *ast.Position) { return v.Name, v.Position })
	for _, value := range def.EnumValues {
		if slices.Contains([]string{"true", "false", "null"}, value.Name) {
			c.at(value.Position, "rename the value, for example "+strings.ToUpper(value.Name), "%s cannot be a value of the enum %s", value.Name, def.Name)
		}
	}
	if members := len(def.Fields) + len(def.EnumValues) + len(def.Types); members == 0 && def.Kind != ast.Scalar {
		c.at(def.Position, "give it a member, or remove it", "%s is declared without members", def.Name)
	}
	if n := max(len(def.Fields), len(def.EnumValues), len(def.Types), len(def.Interfaces)); n > maxMembers {
		c.at(def.Position, "split the type", "%s has %d members; at most %d are allowed", def.Name, n, maxMembers)
	}
}

// unique reports names that come twice in a list.
type unique[T any] struct {
	*compiler
	message string
}

func (u unique[T]) check(list []T, name func(T) (string, *ast.Position)) {
	seen := map[string]bool{}
	for _, item := range list {
		word, pos := name(item)
		if seen[word] {
			u.at(pos, "remove or rename one", "%s named %s", u.message, word)
		}
		seen[word] = true
	}
}

package schema

import (
	_ "embed"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

//go:embed prelude.graphql
var preludeText string

// compiler holds what the steps of Load share.
type compiler struct {
	*reporter
	builtin    map[string]*ast.Definition          // GraphQL's own types and our prelude's
	types      map[string]*ast.Definition          // what the adopter declared, extensions merged
	names      []string                            // of types, sorted
	directives map[string]*ast.DirectiveDefinition // GraphQL's, our prelude's and the adopter's
	declared   ast.DirectiveDefinitionList         // the adopter's
	doc        *ast.SchemaDocument
	pages      Pages

	embedded  map[string]bool            // declared types that are stored inside of records
	objects   map[string]*Object         // the same, compiled
	generated map[string]*ast.Definition // types that expand will add, as far as they are known
	stubs     map[string]bool            // those of which only the name and the kind are
}

func newCompiler(r *reporter, doc *ast.SchemaDocument) *compiler {
	c := &compiler{
		reporter:   r,
		builtin:    map[string]*ast.Definition{},
		types:      map[string]*ast.Definition{},
		directives: map[string]*ast.DirectiveDefinition{},
		doc:        doc,
		embedded:   map[string]bool{},
		objects:    map[string]*Object{},
		generated:  map[string]*ast.Definition{},
		stubs:      map[string]bool{},
	}
	for _, def := range preludeDocument().Definitions {
		c.builtin[def.Name] = def
	}
	for _, def := range preludeDocument().Directives {
		c.directives[def.Name] = def
	}
	return c
}

// preludeDocument is what every schema has before the adopter's first line.
func preludeDocument() *ast.SchemaDocument {
	doc, err := parser.ParseSchemas(validator.Prelude, preludeSource())
	if err != nil {
		panic("schema: the built-in prelude is wrong: " + err.Error())
	}
	return doc
}

func preludeSource() *ast.Source {
	return &ast.Source{Name: "prelude.graphql", Input: preludeText, BuiltIn: true}
}

// lookup returns a type by name: built in, declared, or yet to be generated.
func (c *compiler) lookup(name string) *ast.Definition {
	if def := c.types[name]; def != nil {
		return def
	}
	if def := c.generated[name]; def != nil {
		return def
	}
	return c.builtin[name]
}

// isResource reports whether the name is that of a declared @resource type.
func (c *compiler) isResource(name string) bool {
	def := c.types[name]
	return def != nil && def.Kind == ast.Object && def.Directives.ForName("resource") != nil
}

// resourceTypes yields the declared @resource types in the order of their names.
func (c *compiler) resourceTypes() []*ast.Definition {
	var defs []*ast.Definition
	for _, name := range c.names {
		if c.isResource(name) {
			defs = append(defs, c.types[name])
		}
	}
	return defs
}

// rootNames are the names of the root operation types.
func rootNames() []string { return []string{"Query", "Mutation", "Subscription"} }

func isRoot(name string) bool { return slices.Contains(rootNames(), name) }

package schema

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// checkDocument merges the declarations and reports what is wrong with them as
// GraphQL. After it without faults every name resolves.
func (c *compiler) checkDocument() {
	for _, def := range c.doc.Definitions {
		c.types[def.Name] = def
	}
	for name := range c.types {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	prelude := preludeDocument()
	doc := &ast.SchemaDocument{Directives: prelude.Directives, Definitions: prelude.Definitions}
	for _, name := range c.names {
		def := *c.types[name]
		def.Fields = slices.Clip(def.Fields)
		doc.Definitions = append(doc.Definitions, &def)
	}
	if _, err := validator.ValidateSchemaDocument(doc); err != nil {
		c.foreign(err, "correct the declaration")
	}
}

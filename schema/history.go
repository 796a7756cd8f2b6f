package schema

import (
	_ "embed"
	"strconv"
	"strings"
	"text/template"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

//go:embed history.graphql.tmpl
var historyText string

// history reads how many changes of each record of a type are kept.
func (c *compiler) history(def *ast.Definition) int {
	arg := given(def.Directives.ForName("resource"), "history")
	if arg == nil || arg.Value.Kind != ast.IntValue { // what is no Int is reported with the directive's arguments
		return 0
	}
	n, err := strconv.ParseInt(arg.Value.Raw, 10, 32)
	if err != nil || n < 1 {
		c.at(arg.Value.Position, "write at least 1: the last change of a record is its state", "%s cannot keep %s changes of each record", def.Name, arg.Value.Raw)
		return 0
	}
	return int(n)
}

// historyTypes are the names of the types that a resource's history needs.
func historyTypes(resource string) []string {
	return []string{resource + "HistoryPage", resource + "HistoryEntry"}
}

// history adds the root field that tells what a record was. Nothing is in its way:
// where a name that it needs is taken there is none. One that the adopter declared
// with the same type is the generated one, for those whom its own @auth names.
func (e *expansion) history(r *Resource) {
	name, rule := r.Singular+"History", &Rule{Admin}
	root := e.types["Query"]
	declared := root.Fields.ForName(name)
	generated, types := e.historyOf(r)
	switch {
	case declared == nil && e.taken(r):
		return
	case declared == nil:
		root.Fields = append(root.Fields, generated)
	case declared.Position.Src.BuiltIn: // another resource's
		return
	case e.taken(r) || !narrows(declared, generated) || e.isBound("Query", name):
		e.model.replaced["Query."+name] = shape(generated)
		return
	case declared.Directives.ForName("auth") == nil:
		declared.Directives = append(declared.Directives, generated.Directives.ForName("auth"))
	default:
		rule = e.model.functions["Query."+name]
	}
	for _, def := range types {
		e.types[def.Name] = def
	}
	e.model.roots["Query."+name] = &Root{Kind: RootHistory, Resource: r, Name: name, Rule: rule}
}

// taken reports whether the types of a history have other meanings already.
func (e *expansion) taken(r *Resource) bool {
	for _, name := range historyTypes(r.Name) {
		if e.types[name] != nil || e.builtin[name] != nil {
			return true
		}
	}
	return false
}

// historyOf returns the field and the types of a resource's history.
func (e *expansion) historyOf(r *Resource) (field *ast.FieldDefinition, types []*ast.Definition) {
	var text strings.Builder
	data := struct {
		*Resource
		Pages
	}{r, e.pages}
	err := template.Must(template.New("history").Parse(historyText)).Execute(&text, data)
	doc, parsing := parser.ParseSchema(&ast.Source{Name: "history of " + r.Name, Input: text.String(), BuiltIn: true})
	if err != nil || parsing != nil {
		panic("schema: the built-in history is wrong")
	}
	for _, def := range doc.Definitions {
		def.BuiltIn = false
		if def.Name == "Query" {
			field = def.Fields[0]
			continue
		}
		types = append(types, def)
	}
	return field, types
}

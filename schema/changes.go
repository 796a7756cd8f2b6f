package schema

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:embed changes.graphql.tmpl
var changesText string

// changes adds the root field that polls a resource's changes.
func (e *expansion) changes(r *Resource) {
	var text strings.Builder
	data := struct {
		*Resource
		Pages
	}{r, e.pages}
	if err := template.Must(template.New("changes").Parse(changesText)).Execute(&text, data); err != nil {
		panic("schema: the built-in expansion is wrong: " + err.Error())
	}
	e.addText("changes of "+r.Name, text.String(), r)
	name := r.Singular + "Changes"
	if e.model.Replaced("Query", name) != "" {
		return
	}
	e.model.roots["Query."+name] = &Root{Kind: RootChanges, Resource: r, Name: name}
}

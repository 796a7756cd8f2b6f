package schema

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

//go:embed expansion.graphql.tmpl
var expansionText string

//go:embed shared.graphql
var sharedText string

// expansion collects the contract's definitions.
type expansion struct {
	*compiler
	model      *Model
	template   *template.Template
	types      map[string]*ast.Definition
	directives map[string]*ast.DirectiveDefinition
}

// expand builds the contract: what the adopter declared, less the directives
// that concern the service alone, and what each resource adds. The contract is
// the printed text loaded again, so the two cannot differ.
func (c *compiler) expand(m *Model) {
	e := &expansion{
		compiler: c, model: m,
		template:   template.Must(template.New("expansion").Parse(expansionText)),
		types:      map[string]*ast.Definition{},
		directives: map[string]*ast.DirectiveDefinition{},
	}
	for _, name := range c.names {
		e.types[name] = e.authored(c.types[name])
	}
	for _, directive := range c.declared {
		e.directives[directive.Name] = directive
	}
	if len(m.Resources) > 0 {
		e.addText("shared.graphql", sharedText, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(c.embedded)) {
		e.addEmbedded(name)
	}
	for _, r := range m.Resources {
		e.resource(r)
	}
	for _, r := range m.Resources {
		e.history(r)
	}
	e.bindings()
	e.slow()
	if e.types["Query"] == nil {
		c.at(nil, "add a type with @resource, or fields to `type Query`", "the schema has nothing to query")
	}
	if len(c.list) > 0 {
		return
	}
	e.sortRoots()
	e.addUsed()
	m.SDL = printDocument(e.directives, e.types)
	m.Contract = c.reload(m.SDL)
}

// reload parses and validates the printed contract.
func (c *compiler) reload(sdl string) *ast.Schema {
	contract, err := validator.LoadSchema(validator.Prelude, &ast.Source{Name: contractFile, Input: sdl})
	if err != nil {
		c.foreign(err, "please report this as a fault of the service: the expanded contract is not valid")
		return nil
	}
	delete(contract.Directives, "defer") // of an old draft; nothing here carries it out
	return contract
}

// authored returns what callers see of a declared type.
func (e *expansion) authored(def *ast.Definition) *ast.Definition {
	public := *def
	public.Directives = publicDirectives(def.Directives)
	public.Fields = nil
	resource := e.model.Resource(def.Name)
	for _, field := range def.Fields {
		f := *field
		f.Directives = publicDirectives(field.Directives)
		if resource != nil && resource.Field(f.Name).Auth[Read] != nil {
			f.Type = nullable(f.Type)
		}
		public.Fields = append(public.Fields, &f)
	}
	return &public
}

// publicDirectives leaves out those that concern the service alone. @auth stays
// where it was; @constraint is printed on inputs, where callers need it.
func publicDirectives(list ast.DirectiveList) ast.DirectiveList {
	var public ast.DirectiveList
	for _, directive := range list {
		switch directive.Name {
		case "belongsTo":
			if deletionOf(directive) != 0 { // callers meet it
				public = append(public, directive)
			}
		case "resource", "owner", "unique", "index", "default", "timestamp", "version", "hasMany", "constraint",
			"busRequest", "busPublish", "busSubscribe", "onSlow":
		default:
			public = append(public, directive)
		}
	}
	return public
}

func nullable(typ *ast.Type) *ast.Type {
	t := *typ
	t.NonNull = false
	return &t
}

// resource adds everything that one resource generates.
func (e *expansion) resource(r *Resource) {
	var text strings.Builder
	data := struct {
		*Resource
		Pages
	}{r, e.pages}
	if err := e.template.Execute(&text, data); err != nil {
		panic("schema: the built-in expansion is wrong: " + err.Error())
	}
	e.addText("expansion of "+r.Name, text.String(), r)
	e.addFilter(r)
	e.add(e.orderFields(r), r)
	e.add(e.createInput(r), r)
	e.add(e.updateInput(r), r)
	e.changes(r)

	for typ, kinds := range map[string]map[string]RootKind{
		"Query":        {r.Singular: RootGet, r.Plural: RootList},
		"Mutation":     {"create" + r.Name: RootCreate, "update" + r.Name: RootUpdate, "delete" + r.Name: RootDelete},
		"Subscription": {r.Singular + "Changed": RootChanged},
	} {
		for name, kind := range kinds {
			if e.model.Replaced(typ, name) != "" {
				continue
			}
			e.model.roots[typ+"."+name] = &Root{Kind: kind, Resource: r, Name: name, OnSlow: r.OnSlow}
		}
	}
}

// addText adds the definitions of a built-in text; r is nil for the shared ones.
func (e *expansion) addText(name, text string, r *Resource) {
	doc, err := parser.ParseSchema(&ast.Source{Name: name, Input: text, BuiltIn: true})
	if err != nil {
		panic("schema: the built-in " + name + " is wrong: " + err.Error())
	}
	for _, def := range doc.Definitions {
		def.BuiltIn = false
		if isRoot(def.Name) {
			e.addRoots(def, r)
			continue
		}
		e.add(def, r)
	}
}

// add adds a generated type, whose name must be free.
func (e *expansion) add(def *ast.Definition, r *Resource) {
	taken := e.types[def.Name]
	if taken == nil {
		taken = e.builtin[def.Name]
	}
	if taken == nil {
		e.types[def.Name] = def
		return
	}
	if e.compiler.types[def.Name] != nil {
		e.at(taken.Position, "rename the type", "the name %s is needed for what %s generates", def.Name, origin(r))
		return
	}
	e.at(e.compiler.types[r.Name].Position, "rename one of the resources", "%s generates the type %s, which another resource generates too", r.Name, def.Name)
}

// addEmbedded adds the input for values of a type that is stored inside of
// records.
func (e *expansion) addEmbedded(typ string) {
	name := inputName(typ)
	if taken := e.types[name]; taken != nil {
		e.at(taken.Position, "rename the type", "the name %s is needed for the input of %s", name, typ)
		return
	}
	e.types[name] = e.generated[name]
}

func origin(r *Resource) string {
	if r == nil {
		return "every service"
	}
	return "the resource " + r.Name
}

// addRoots adds root fields. A field that the adopter declared stays as it was
// written: with the same type, and with arguments of the generated field's, it
// does what the generated one does; otherwise, and where a service of the
// adopter's answers it, it is the adopter's own.
func (e *expansion) addRoots(generated *ast.Definition, r *Resource) {
	root := e.types[generated.Name]
	if root == nil {
		root = &ast.Definition{Kind: ast.Object, Name: generated.Name}
		e.types[generated.Name] = root
	}
	for _, field := range generated.Fields {
		declared := root.Fields.ForName(field.Name)
		switch {
		case declared == nil:
			root.Fields = append(root.Fields, field)
		case declared.Position.Src.BuiltIn:
			e.at(e.compiler.types[r.Name].Position, "rename a resource, or name another plural by @resource(plural:)",
				"%s generates the field %s.%s, which another resource generates too", r.Name, generated.Name, field.Name)
		case !narrows(declared, field), e.isBound(generated.Name, field.Name):
			e.model.replaced[generated.Name+"."+field.Name] = shape(field)
		case declared.Directives.ForName("auth") != nil:
			e.at(declared.Directives.ForName("auth").Position, "put the rule on "+r.Name,
				"%s.%s is generated: the rules of %s hold for it", generated.Name, field.Name, r.Name)
		}
	}
}

// narrows reports whether a declared field can stand for the generated one: the
// type is the same, or differs in `!` alone, every argument is one of the
// generated field's, and none of those that must be given is missing.
func narrows(declared, generated *ast.FieldDefinition) bool {
	if !stricter(declared.Type, generated.Type) && !stricter(generated.Type, declared.Type) {
		return false
	}
	for _, arg := range declared.Arguments {
		known := generated.Arguments.ForName(arg.Name)
		if known == nil || !stricter(arg.Type, known.Type) {
			return false
		}
	}
	for _, arg := range generated.Arguments {
		if arg.Type.NonNull && declared.Arguments.ForName(arg.Name) == nil {
			return false
		}
	}
	return true
}

// stricter reports whether all values of a are values of b, which differ in `!`
// at most.
func stricter(a, b *ast.Type) bool {
	if b.NonNull && !a.NonNull || (a.Elem == nil) != (b.Elem == nil) || a.NamedType != b.NamedType {
		return false
	}
	return a.Elem == nil || stricter(a.Elem, b.Elem)
}

// shape prints a field's name, arguments and type, without what describes them.
func shape(field *ast.FieldDefinition) string {
	var args ast.ArgumentDefinitionList
	for _, arg := range field.Arguments {
		args = append(args, &ast.ArgumentDefinition{Name: arg.Name, Type: arg.Type, DefaultValue: arg.DefaultValue})
	}
	var p printer
	return field.Name + p.arguments("", args) + ": " + field.Type.String()
}

func (e *expansion) sortRoots() {
	for _, name := range rootNames() {
		if root := e.types[name]; root != nil {
			slices.SortFunc(root.Fields, func(a, b *ast.FieldDefinition) int { return strings.Compare(a.Name, b.Name) })
		}
	}
}

// addUsed adds our scalars and directives that the contract uses.
func (e *expansion) addUsed() {
	prelude, err := parser.ParseSchema(preludeSource())
	if err != nil {
		panic("schema: the built-in prelude is wrong: " + err.Error())
	}
	used := usedNames(e.types, e.directives)
	used["@transaction"] = len(e.model.Resources) > 0 // of those that stand in documents
	for _, directive := range prelude.Directives {
		if used["@"+directive.Name] {
			e.directives[directive.Name] = directive
			for _, arg := range directive.Arguments {
				used[arg.Type.Name()] = true
			}
		}
	}
	for _, def := range prelude.Definitions {
		if used[def.Name] {
			e.types[def.Name] = def
		}
	}
}

// usedNames holds the types that fields and arguments have, and the directives
// that stand anywhere with an @ before the name.
func usedNames(types map[string]*ast.Definition, directives map[string]*ast.DirectiveDefinition) map[string]bool {
	used := map[string]bool{}
	mark := func(list ast.DirectiveList) {
		for _, directive := range list {
			used["@"+directive.Name] = true
		}
	}
	markArgs := func(args ast.ArgumentDefinitionList) {
		for _, arg := range args {
			used[arg.Type.Name()] = true
			mark(arg.Directives)
		}
	}
	for _, def := range types {
		mark(def.Directives)
		for _, field := range def.Fields {
			used[field.Type.Name()] = true
			mark(field.Directives)
			markArgs(field.Arguments)
		}
	}
	for _, directive := range directives {
		markArgs(directive.Arguments)
	}
	return used
}

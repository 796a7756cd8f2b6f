package graphql

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
	"tidings/schema"
)

// compiler turns one operation of a valid document into a plan.
type compiler struct {
	engine *Engine
	vars   map[string]any // for @skip and @include alone
	plan   *plan
	fields int // compiled so far: those of an interface or a union once for each type
}

func (e *Engine) compile(op *ast.OperationDefinition, vars map[string]any) (*plan, *gqlerror.Error) {
	c := &compiler{engine: e, vars: vars, plan: &plan{together: isTransaction(op)}}
	typ := "Query"
	switch op.Operation {
	case ast.Mutation:
		typ = "Mutation"
	case ast.Subscription:
		typ = "Subscription"
	}
	def := e.rootType(typ)
	c.plan.typename = appendString(nil, def.Name)
	for _, nodes := range c.collect(def, []ast.SelectionSet{op.SelectionSet}) {
		c.plan.roots = append(c.plan.roots, c.root(typ, def, nodes))
	}
	if c.fields > maxSelections {
		return nil, beyondLimit("selections", refuse(op.Position, fault.ValidationFailed, "the operation selects more than %d fields, with those of interfaces and unions for each of their types", maxSelections))
	}
	if op.Operation == ast.Subscription && len(c.plan.roots) != 1 {
		return nil, refuse(op.Position, fault.ValidationFailed, "A subscription must select exactly one root field.")
	}
	for _, r := range c.plan.roots {
		r.far = r.reads()
	}
	return c.plan, nil
}

func (c *compiler) root(typ string, def *ast.Definition, nodes []*ast.Field) *root {
	r := &root{field: c.field(def, nodes)}
	name := nodes[0].Name
	switch {
	case name == "__typename":
		return r
	case name == "__schema", name == "__type":
		r.meta = true
		r.target = c.object(nodes, c.meta)
		return r
	}
	r.generated = c.engine.model.Root(typ, name)
	if r.generated == nil {
		r.function = c.engine.functions[typ+"."+name]
		if r.rule = c.engine.model.FunctionRule(typ, name); r.rule != nil {
			c.plan.roles |= r.rule.Roles
		}
		c.compose(&r.field)
		return r
	}
	switch r.generated.Kind {
	case schema.RootList:
		r.target = c.connection(r.generated.Resource, nodes)
	case schema.RootChanged:
		r.target = c.change(r.generated.Resource, nodes)
	case schema.RootChanges:
		r.target = c.changes(r.generated.Resource, nodes)
	case schema.RootHistory:
		r.rule = r.generated.Rule
		c.plan.roles |= r.rule.Roles
		r.target = c.changes(r.generated.Resource, nodes)
	default:
		r.target = c.record(r.generated.Resource, nodes)
	}
	return r
}

// field fills in what all fields have. Its source is a member of the record
// until the caller says otherwise.
func (c *compiler) field(parent *ast.Definition, nodes []*ast.Field) field {
	first := nodes[0]
	f := field{
		key:    append(appendString(nil, first.Alias), ':'),
		name:   first.Alias,
		parent: parent.Name,
		nodes:  nodes,
		source: sourceMember,
	}
	if first.Name == "__typename" {
		f.source, f.typ = sourceTypename, first.Definition.Type
		return f
	}
	// The parser's definition is that of the type condition: take the object's own.
	def := parent.Fields.ForName(first.Name)
	if def == nil {
		def = first.Definition
	}
	f.typ = def.Type
	f.leaf = c.engine.inputs.newLeaf(def.Type)
	f.args = c.engine.inputs.newArguments(first, def.Arguments)
	f.cost = c.engine.model.Cost(parent.Name, first.Name)
	return f
}

// object compiles the merged selections below nodes; describe completes each
// field of them, all but __typename.
func (c *compiler) object(nodes []*ast.Field, describe func(*object, *field)) *object {
	return c.objectOf(c.engine.schema.Types[c.typeName(nodes[0])], nodes, describe)
}

// objectOf compiles the merged selections below nodes for one object type.
func (c *compiler) objectOf(def *ast.Definition, nodes []*ast.Field, describe func(*object, *field)) *object {
	o := &object{typename: appendString(nil, def.Name), owner: -1}
	for _, group := range c.collect(def, subselections(nodes)) {
		if c.fields++; c.fields > maxSelections {
			break // refused when all is unwound
		}
		f := c.field(def, group)
		if f.source != sourceTypename {
			describe(o, &f)
		}
		switch {
		case f.source == sourceMember:
			f.slot = o.slot(group[0].Name)
		case f.source.linked():
			f.link = o.links
			o.links++
		}
		o.fields = append(o.fields, f)
	}
	return o
}

func (c *compiler) typeName(node *ast.Field) string { return node.Definition.Type.Name() }

// slot returns where the member of the given name is found.
func (o *object) slot(name string) int {
	if i := slices.Index(o.keys, name); i >= 0 {
		return i
	}
	o.keys = append(o.keys, name)
	return len(o.keys) - 1
}

// record compiles a stored type.
func (c *compiler) record(r *schema.Resource, nodes []*ast.Field) *object {
	c.plan.roles |= r.Auth[schema.Read].Roles
	o := c.objectOf(c.engine.schema.Types[r.Name], nodes, func(o *object, f *field) {
		stored := r.Field(f.nodes[0].Name)
		if f.rule = stored.Auth[schema.Read]; f.rule != nil {
			c.plan.roles |= f.rule.Roles
			if f.rule.Roles.Has(schema.Owner) && r.Owner != nil {
				o.owner = o.slot(r.Owner.Name)
			}
		}
		rel := stored.Relation
		if rel == nil {
			c.compose(f)
			return
		}
		f.relation, f.source = rel, sourceOne
		if rel.Many {
			f.source = sourceMany
		}
		if rel.Through != nil {
			c.plan.roles |= rel.Through.Auth[schema.Read].Roles
		}
		f.target = c.record(rel.Target, f.nodes)
	})
	o.resource = r
	return o
}

// connection compiles a page of records.
func (c *compiler) connection(r *schema.Resource, nodes []*ast.Field) *object {
	return c.object(nodes, func(o *object, f *field) {
		switch f.nodes[0].Name {
		case "totalCount":
			o.counted = true
			return
		case "edges":
			f.source, f.target = sourceEdges, c.edge(r, f.nodes)
		case "nodes":
			f.source, f.target = sourceNodes, c.record(r, f.nodes)
		case "pageInfo":
			f.source, f.target = sourcePageInfo, c.object(f.nodes, func(*object, *field) {})
		}
		o.listed = true
	})
}

func (c *compiler) edge(r *schema.Resource, nodes []*ast.Field) *object {
	return c.object(nodes, func(_ *object, f *field) {
		if f.nodes[0].Name == "node" {
			f.source, f.target = sourceNode, c.record(r, f.nodes)
		}
	})
}

// change compiles what a subscription to a resource delivers.
func (c *compiler) change(r *schema.Resource, nodes []*ast.Field) *object {
	c.plan.roles |= r.Auth[schema.Read].Roles
	return c.object(nodes, func(_ *object, f *field) {
		if f.nodes[0].Name == r.Singular {
			f.source, f.target = sourceRecord, c.record(r, f.nodes)
		}
	})
}

// changes compiles a page of them.
func (c *compiler) changes(r *schema.Resource, nodes []*ast.Field) *object {
	c.plan.roles |= r.Auth[schema.Read].Roles
	return c.object(nodes, func(_ *object, f *field) {
		if f.nodes[0].Name == "nodes" {
			f.source, f.target = sourceNodes, c.change(r, f.nodes)
		}
	})
}

// compose completes a field whose value stands in the JSON of its parent, which
// is a record or what a function gave: a leaf, a record of a resource, or an
// object of the adopter's own.
func (c *compiler) compose(f *field) {
	if f.leaf != nil {
		return
	}
	f.source = sourceNested
	def := c.engine.schema.Types[f.typ.Name()]
	if !def.IsAbstractType() {
		f.target = c.composed(def, f.nodes)
		return
	}
	f.target = &object{typename: appendString(nil, def.Name), owner: -1}
	for _, possible := range c.engine.schema.GetPossibleTypes(def) {
		f.target.variants = append(f.target.variants, c.composed(possible, f.nodes))
	}
}

func (c *compiler) composed(def *ast.Definition, nodes []*ast.Field) *object {
	if r := c.engine.model.Resource(def.Name); r != nil {
		return c.record(r, nodes)
	}
	return c.objectOf(def, nodes, func(_ *object, f *field) { c.compose(f) })
}

// meta completes a field of the introspection types.
func (c *compiler) meta(_ *object, f *field) {
	if f.leaf != nil {
		return
	}
	f.source, f.target = sourceMeta, c.object(f.nodes, c.meta)
}

// collect merges the selections of an object type by response name, in the
// order in which they appear: CollectFields of the specification.
func (c *compiler) collect(def *ast.Definition, sets []ast.SelectionSet) [][]*ast.Field {
	g := collector{compiler: c, def: def, index: map[string]int{}, seen: map[string]bool{}}
	for _, set := range sets {
		g.set(set)
	}
	return g.list
}

type collector struct {
	*compiler
	def   *ast.Definition
	list  [][]*ast.Field
	index map[string]int
	seen  map[string]bool // fragments
}

func (g *collector) set(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if g.excluded(sel.Directives) {
				continue
			}
			i, ok := g.index[sel.Alias]
			if !ok {
				i = len(g.list)
				g.index[sel.Alias] = i
				g.list = append(g.list, nil)
			}
			g.list[i] = append(g.list[i], sel)
		case *ast.InlineFragment:
			if !g.excluded(sel.Directives) && g.applies(sel.TypeCondition) {
				g.set(sel.SelectionSet)
			}
		case *ast.FragmentSpread:
			if g.excluded(sel.Directives) || g.seen[sel.Name] {
				continue
			}
			g.seen[sel.Name] = true
			if g.applies(sel.Definition.TypeCondition) {
				g.set(sel.Definition.SelectionSet)
			}
		}
	}
}

func (g *collector) excluded(list ast.DirectiveList) bool {
	return len(list) > 0 && (g.condition(list, "skip", false) || !g.condition(list, "include", true))
}

func (g *collector) condition(list ast.DirectiveList, name string, absent bool) bool {
	d := list.ForName(name)
	if d == nil {
		return absent
	}
	arg := d.Arguments.ForName("if").Value
	if arg.Kind == ast.Variable {
		on, _ := g.vars[arg.Raw].(bool)
		return on
	}
	return arg.Raw == "true"
}

// applies reports whether a fragment on the named type is for this object.
func (g *collector) applies(condition string) bool {
	if condition == "" || condition == g.def.Name {
		return true
	}
	return slices.Contains(g.engine.schema.PossibleTypes[condition], g.def)
}

package graphql

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
)

// overlap is the rule "field selection merging" of the specification. It
// stands in for gqlparser's, whose time is quadratic in the fields and
// exponential in nested fragments: here all selections that meet at one
// response name are compared with the first of them, because being mergeable
// is an equivalence; but for __typename, which stands beside String and String!
// and is therefore never the one that others are compared with.
type overlap struct {
	schema *ast.Schema
	budget int // visits left
	err    *gqlerror.Error
}

// maxOverlapVisits bounds the rule where documents use abstract types to make
// it look at the same selections again and again.
const maxOverlapVisits = 20 * maxSelections

// checkOverlap checks every operation of a document whose other rules hold.
func checkOverlap(schema *ast.Schema, doc *ast.QueryDocument) *gqlerror.Error {
	for _, op := range doc.Operations {
		o := &overlap{schema: schema, budget: maxOverlapVisits}
		o.merge([]ast.SelectionSet{op.SelectionSet}, true)
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// merge checks the fields of sets that share one place of the response. When
// exact is false they never meet in one object, so that only the shapes of
// their values have to agree.
func (o *overlap) merge(sets []ast.SelectionSet, exact bool) {
	groups := fieldGroups{index: map[string]int{}, seen: map[string]bool{}, budget: &o.budget}
	for _, set := range sets {
		groups.collect(set)
	}
	if o.budget < 0 {
		o.err = refuse(nil, fault.ValidationFailed, "the document is too intricate; use fewer nested fragments")
		return
	}
	for _, fields := range groups.list {
		if o.err != nil {
			return
		}
		o.group(fields, exact)
	}
}

func (o *overlap) group(fields []*ast.Field, exact bool) {
	if len(fields) == 1 && len(fields[0].SelectionSet) == 0 {
		return
	}
	first := fields[max(0, slices.IndexFunc(fields, func(f *ast.Field) bool { return f.Name != "__typename" }))]
	for _, f := range fields {
		if !o.sameShape(first.Definition, f.Definition) {
			o.conflict(first, f, "they return conflicting types "+first.Definition.Type.String()+" and "+f.Definition.Type.String())
			return
		}
	}
	if !exact {
		o.merge(subselections(fields), false)
		return
	}
	meeting := o.meeting(fields)
	for _, part := range meeting {
		for _, f := range part[1:] {
			if !o.sameCall(part[0], f) {
				return
			}
		}
		o.merge(subselections(part), true)
	}
	if len(meeting) > 1 {
		o.merge(subselections(fields), false)
	}
}

// meeting splits fields into those that can meet in one object: for each
// object type its own fields together with those of abstract types.
func (o *overlap) meeting(fields []*ast.Field) [][]*ast.Field {
	var abstract []*ast.Field
	var names []string
	parts := map[string][]*ast.Field{}
	for _, f := range fields {
		switch name := f.ObjectDefinition.Name; {
		case f.ObjectDefinition.IsAbstractType():
			abstract = append(abstract, f)
		case parts[name] == nil:
			names = append(names, name)
			fallthrough
		default:
			parts[name] = append(parts[name], f)
		}
	}
	if len(names) == 0 {
		return [][]*ast.Field{abstract}
	}
	list := make([][]*ast.Field, len(names))
	for i, name := range names {
		list[i] = append(parts[name], abstract...)
	}
	return list
}

// sameShape reports whether values of both fields look alike on the wire.
func (o *overlap) sameShape(a, b *ast.FieldDefinition) bool {
	if a.Name == "__typename" || b.Name == "__typename" {
		return a.Type.NamedType == b.Type.NamedType // graphql-js lets it stand beside String, too
	}
	x, y := a.Type, b.Type
	for {
		if x.NonNull != y.NonNull || (x.Elem == nil) != (y.Elem == nil) {
			return false
		}
		if x.Elem == nil {
			break
		}
		x, y = x.Elem, y.Elem
	}
	if x.NamedType == y.NamedType {
		return true
	}
	dx, dy := o.schema.Types[x.NamedType], o.schema.Types[y.NamedType]
	return dx != nil && dy != nil && dx.IsCompositeType() && dy.IsCompositeType()
}

func (o *overlap) sameCall(a, b *ast.Field) bool {
	if a.Name != b.Name {
		o.conflict(a, b, `"`+a.Name+`" and "`+b.Name+`" are different fields`)
		return false
	}
	same := len(a.Arguments) == len(b.Arguments)
	for _, arg := range a.Arguments {
		other := b.Arguments.ForName(arg.Name)
		same = same && other != nil && sameValue(arg.Value, other.Value)
	}
	if !same {
		o.conflict(a, b, "they have differing arguments")
	}
	return same
}

func (o *overlap) conflict(a, b *ast.Field, why string) {
	if o.err != nil {
		return
	}
	o.err = refuse(a.Position, fault.ValidationFailed,
		"Fields %q conflict because %s. Use different aliases on the fields to fetch both if this was intentional.", a.Alias, why)
	o.err.Locations = locationsOf([]*ast.Field{a, b})
}

// sameValue reports whether two literals are equal, whatever the order of the
// members of their objects.
func sameValue(a, b *ast.Value) bool {
	if a.Kind != b.Kind || a.Raw != b.Raw || len(a.Children) != len(b.Children) {
		return false
	}
	for i, child := range a.Children {
		other := b.Children[i].Value
		if a.Kind == ast.ObjectValue {
			other = b.Children.ForName(child.Name)
		}
		if other == nil || !sameValue(child.Value, other) {
			return false
		}
	}
	return true
}

func subselections(fields []*ast.Field) []ast.SelectionSet {
	sets := make([]ast.SelectionSet, 0, len(fields))
	for _, f := range fields {
		if len(f.SelectionSet) > 0 {
			sets = append(sets, f.SelectionSet)
		}
	}
	return sets
}

// fieldGroups collects fields by response name, whatever their type conditions.
type fieldGroups struct {
	list   [][]*ast.Field
	index  map[string]int
	seen   map[string]bool // fragments
	budget *int
}

func (g *fieldGroups) collect(set ast.SelectionSet) {
	for _, sel := range set {
		if *g.budget--; *g.budget < 0 {
			return
		}
		switch sel := sel.(type) {
		case *ast.Field:
			i, ok := g.index[sel.Alias]
			if !ok {
				i = len(g.list)
				g.index[sel.Alias] = i
				g.list = append(g.list, nil)
			}
			g.list[i] = append(g.list[i], sel)
		case *ast.InlineFragment:
			g.collect(sel.SelectionSet)
		case *ast.FragmentSpread:
			if !g.seen[sel.Name] && sel.Definition != nil {
				g.seen[sel.Name] = true
				g.collect(sel.Definition.SelectionSet)
			}
		}
	}
}

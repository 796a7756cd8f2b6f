package graphql

import (
	"crypto/sha256"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/resource"
)

// telling is what the result of an event depends on, among groups. Groups that
// listen to different records by the same document are told the same of an event
// which concerns several of them: it is executed and encoded once.
type telling struct {
	shape string
	kind  resource.Kind // a record that enters one group's filter may change within another's
	gone  bool          // the record may not be shown
}

// shapeOf is equal for groups that differ at most in what they listen to: the same
// document and operation, whose variables are used in the arguments of the root
// field alone, and the same view. Otherwise it is the group's own.
func shapeOf(g *group) string {
	op := g.op
	if op.asked.cost || usesVariables(op.document, op.def) {
		return g.key
	}
	sum := sha256.Sum256([]byte(op.document.text + "\x00" + op.def.Name))
	return string(sum[:]) + string(rune(g.who.Roles)) + g.who.Subject
}

// usesVariables reports whether anything but the arguments of the operation's
// root fields uses a variable: a directive, or something below or in a fragment.
func usesVariables(d *document, op *ast.OperationDefinition) bool {
	for _, s := range op.SelectionSet {
		f, plain := s.(*ast.Field)
		if !plain || directed(f.Directives) || selects(f.SelectionSet) {
			return true
		}
	}
	return slices.ContainsFunc(d.ast.Fragments, func(f *ast.FragmentDefinition) bool {
		return directed(f.Directives) || selects(f.SelectionSet)
	})
}

// selects reports whether the selections use a variable. Fragments that are
// spread are looked at apart.
func selects(set ast.SelectionSet) bool {
	return slices.ContainsFunc(set, func(s ast.Selection) bool {
		switch s := s.(type) {
		case *ast.Field:
			return directed(s.Directives) || filled(s.Arguments) || selects(s.SelectionSet)
		case *ast.InlineFragment:
			return directed(s.Directives) || selects(s.SelectionSet)
		case *ast.FragmentSpread:
			return directed(s.Directives)
		}
		return true
	})
}

func directed(list ast.DirectiveList) bool {
	return slices.ContainsFunc(list, func(d *ast.Directive) bool { return filled(d.Arguments) })
}

func filled(list ast.ArgumentList) bool {
	return slices.ContainsFunc(list, func(a *ast.Argument) bool { return variable(a.Value) })
}

// variable reports whether a value has a variable in it.
func variable(v *ast.Value) bool {
	return v.Kind == ast.Variable || slices.ContainsFunc(v.Children, func(c *ast.ChildValue) bool { return variable(c.Value) })
}

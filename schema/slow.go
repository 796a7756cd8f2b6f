package schema

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Slow is what becomes of a subscriber who reads more slowly than something comes.
type Slow int

// The policies: those of @resource(onSlow:), @onSlow and @busSubscribe(onSlow:).
const (
	SlowClose  Slow = iota // the connection is closed, to be resumed by cursor
	SlowLatest             // only the newest state of each record, or of each key, is told
)

// slowOf reads the policy in an argument of a directive, which may be left out.
func slowOf(directive *ast.Directive, name string) Slow {
	if arg := given(directive, name); arg != nil && arg.Value.Raw == "LATEST" {
		return SlowLatest
	}
	return SlowClose
}

// slow gives the generated subscriptions that the adopter declared the policies
// which stand on them.
func (e *expansion) slow() {
	for _, name := range e.names {
		for _, field := range e.compiler.types[name].Fields {
			directive := field.Directives.ForName("onSlow")
			if directive == nil {
				continue
			}
			root := e.model.roots[name+"."+field.Name]
			switch {
			case name != "Subscription":
				e.at(directive.Position, "put it on a field of Subscription", "@onSlow on %s.%s, to which nobody subscribes, would have no effect", name, field.Name)
			case field.Directives.ForName("busSubscribe") != nil:
				e.at(directive.Position, "write the policy there: @busSubscribe(onSlow: …)", "Subscription.%s is bound by @busSubscribe, which says what becomes of slow subscribers", field.Name)
			case root == nil:
				e.at(directive.Position, "remove it", "@onSlow on Subscription.%s, which no resource generates, would have no effect: a function goes as fast as its subscriber reads", field.Name)
			default:
				root.OnSlow = slowOf(directive, "policy")
			}
		}
	}
}

// bindSlow reads what a @busSubscribe says of slow subscribers.
func (e *expansion) bindSlow(b *Binding, field *ast.FieldDefinition, directive *ast.Directive) {
	b.OnSlow = slowOf(directive, "onSlow")
	leaves := e.leaves(field.Type)
	key := given(directive, "key")
	switch {
	case key != nil && b.OnSlow != SlowLatest:
		e.at(key.Position, "write onSlow: LATEST, or remove it", "the key of %s would have no effect: every message is told", b)
	case key != nil && !slices.Contains(leaves, key.Value.Raw):
		remedy := "remove it: the newest message of all is kept then"
		if len(leaves) > 0 {
			remedy = "name one of " + strings.Join(leaves, ", ")
		}
		e.at(key.Value.Position, remedy, "the key of %s cannot be %q, which is no field of %s with a single value", b, key.Value.Raw, field.Type)
	case key != nil:
		b.Key = key.Value.Raw
	case b.OnSlow == SlowLatest && slices.Contains(leaves, "id"):
		b.Key = "id"
	}
}

// leaves names the fields of an object's or an interface's type that have a single
// value: a scalar or an enum.
func (e *expansion) leaves(typ *ast.Type) (names []string) {
	def := e.definition(typ.NamedType)
	if def == nil || def.Kind != ast.Object && def.Kind != ast.Interface {
		return nil
	}
	for _, field := range def.Fields {
		if leaf := e.definition(field.Type.NamedType); leaf != nil && leaf.IsLeafType() {
			names = append(names, field.Name)
		}
	}
	return names
}

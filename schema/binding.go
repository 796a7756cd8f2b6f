package schema

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// BindingKind is how a root field is bound to a service of the adopter's.
type BindingKind int

// The kinds of bindings, by their directives.
const (
	BusRequest   BindingKind = iota + 1 // a request is answered with the field's value
	BusPublish                          // a message is sent; the field is true
	BusSubscribe                        // each message is a value of the subscription
)

// Binding is a root field that a service of the adopter's takes part in, by
// way of a subject of the bus.
type Binding struct {
	Kind        BindingKind
	Root, Field string // "Query", "quote"
	Subject     Subject
	// Stream of JetStream that keeps the subject's messages; empty: nobody does,
	// or nobody here relies on it.
	Stream string
	// OnSlow says what becomes of subscribers who read too slowly.
	OnSlow Slow
	// Key is the member of a value that tells what it is about, where OnSlow is
	// SlowLatest: of each only the newest is kept. Empty: of all.
	Key string
	// Timeout of a request; zero: as long as the operation may take.
	Timeout time.Duration
	// Position is that of the directive, for messages.
	Position *ast.Position
}

// String names the field, as in "Query.quote".
func (b *Binding) String() string { return b.Root + "." + b.Field }

// Place is where the directive stands, "file:line:column".
func (b *Binding) Place() string { return place(b.Position) }

// Binding returns what the given root field is bound to, nil for a field
// without such a directive.
func (m *Model) Binding(typ, field string) *Binding { return m.bindings[typ+"."+field] }

// Bindings returns all of them, in the order of the root types and of their
// fields.
func (m *Model) Bindings() []*Binding {
	var list []*Binding
	for _, root := range rootNames() {
		if m.Contract.Types[root] == nil {
			continue
		}
		for _, field := range m.Contract.Types[root].Fields {
			if b := m.Binding(root, field.Name); b != nil {
				list = append(list, b)
			}
		}
	}
	return list
}

// bindingRoots says for each directive its kind and where it may stand.
var bindingRoots = map[string]struct {
	kind  BindingKind
	roots []string
}{
	"busRequest":   {BusRequest, []string{"Query", "Mutation"}},
	"busPublish":   {BusPublish, []string{"Mutation"}},
	"busSubscribe": {BusSubscribe, []string{"Subscription"}},
}

// bindings compiles the fields that services of the adopter's take part in.
func (e *expansion) bindings() {
	for _, name := range e.names {
		for _, field := range e.compiler.types[name].Fields {
			var first *ast.Directive
			for _, directive := range field.Directives {
				if _, ok := bindingRoots[directive.Name]; !ok {
					continue
				}
				if first != nil {
					e.at(directive.Position, "keep one of them", "%s.%s is bound by @%s already", name, field.Name, first.Name)
					continue
				}
				first = directive
				e.binding(name, field, directive)
			}
		}
	}
}

// isBound reports whether a service of the adopter's takes part in a field that
// the adopter declared.
func (e *expansion) isBound(root, field string) bool {
	declared := e.compiler.types[root].Fields.ForName(field)
	return slices.ContainsFunc(declared.Directives, func(d *ast.Directive) bool {
		_, ok := bindingRoots[d.Name]
		return ok
	})
}

func (e *expansion) binding(root string, field *ast.FieldDefinition, directive *ast.Directive) {
	kind := bindingRoots[directive.Name].kind
	if !e.checkBindingPlace(root, field, directive) {
		return
	}
	b := &Binding{Kind: kind, Root: root, Field: field.Name, Position: directive.Position}
	template := directive.Arguments.ForName("subject").Value
	subject, wrong := parseSubject(template.Raw, kind == BusSubscribe)
	if wrong != nil {
		e.at(template.Position, wrong.remedy, "the subject %q %s", template.Raw, wrong.what)
		return
	}
	b.Subject = subject
	e.checkSubjectArguments(template.Position, field, subject)
	if arg := directive.Arguments.ForName("stream"); arg != nil && arg.Value.Kind != ast.NullValue {
		if b.Stream = arg.Value.Raw; !isStream(b.Stream) {
			e.at(arg.Value.Position, "write its name, such as ORDERS; it has no subject and no placeholder in it", "%q cannot be the name of a stream", b.Stream)
		}
	}
	if arg := directive.Arguments.ForName("timeout"); arg != nil && arg.Value.Kind != ast.NullValue {
		ms, err := strconv.Atoi(arg.Value.Raw)
		if err != nil || ms < 1 {
			e.at(arg.Value.Position, "give the time in milliseconds, such as 2000", "the timeout of %s must be at least 1", b)
		}
		b.Timeout = time.Duration(ms) * time.Millisecond
	}
	if kind == BusSubscribe {
		e.bindSlow(b, field, directive)
	}
	e.model.bindings[b.String()] = b
}

// checkBindingPlace reports a directive where a service could not take part.
func (e *expansion) checkBindingPlace(root string, field *ast.FieldDefinition, directive *ast.Directive) bool {
	roots := bindingRoots[directive.Name].roots
	switch {
	case !slices.Contains(roots, root):
		e.at(directive.Position, "put it on a field of "+strings.Join(roots, " or "), "@%s cannot stand on %s.%s", directive.Name, root, field.Name)
	case directive.Name == "busPublish" && (field.Type.Elem != nil || field.Type.NamedType != "Boolean"):
		e.at(field.Type.Position, "give it the type Boolean", "%s.%s has the type %s, but what is published has no answer: the field is true when the message was taken", root, field.Name, field.Type)
	default:
		return true
	}
	return false
}

// isStream reports whether JetStream would take the name.
func isStream(name string) bool {
	return name != "" && len(name) <= 255 && !strings.ContainsAny(name, `.*>/\`) && !strings.ContainsFunc(name, unfit)
}

package schema

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Class says what a change of a contract does to those who use it.
type Class int

// The classes, the worst first.
const (
	Breaking  Class = iota + 1 // operations that were valid are refused, or answers lose what they promised
	Dangerous                  // valid operations stay valid but may meet what they do not know
	Safe                       // nobody has to know
)

// String returns the word of the class, such as BREAKING.
func (c Class) String() string {
	return [...]string{"", "BREAKING", "DANGEROUS", "SAFE"}[c]
}

// MarshalText writes the class as String does.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Change is one difference between two contracts.
type Change struct {
	Class Class `json:"class"`
	// Kind is the word of graphql-js for the change, such as FIELD_REMOVED, or
	// one of ours: AUTH_NARROWED, AUTH_WIDENED, CONSTRAINT_NARROWED,
	// CONSTRAINT_WIDENED, ONE_OF_ADDED, ONE_OF_REMOVED, DEPRECATION_CHANGED,
	// ON_DELETE_ADDED, ON_DELETE_REMOVED, ON_DELETE_CHANGED.
	Kind string `json:"kind"`
	// Coordinate is the schema coordinate of what changed: Type, Type.field,
	// Type.field(arg:), Enum.VALUE, @directive or @directive(arg:). For a union
	// or an interface it is that of the type that gained or lost it.
	Coordinate string `json:"coordinate"`
	// Message is one sentence for people.
	Message string `json:"message"`
}

// Diff compares two contracts and returns the changes from the old to the new
// one: the worst first, then by coordinate. Both are as Model.Contract or
// LoadContract return them.
//
// The kinds and classes are those of graphql-js (findSchemaChanges), except that
// the standard scalars and the directives of this language are no part of what
// is compared: who gains or loses them cannot tell. What @auth and @constraint
// say is compared for what it means to callers: docs/schema.md has the rules.
func Diff(old, new *Contract) []Change {
	d := &differ{old: old, new: new, vocabulary: vocabulary()}
	d.types()
	d.directives()
	slices.SortStableFunc(d.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Coordinate, b.Coordinate),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Message, b.Message))
	})
	return d.changes
}

type differ struct {
	old, new   *ast.Schema
	vocabulary map[string]bool // of the language: directives with their @, and the enums of their arguments
	changes    []Change
}

// vocabulary names what the prelude declares for the authors of schemas.
func vocabulary() map[string]bool {
	names := map[string]bool{}
	doc := preludeDocument()
	for _, directive := range doc.Directives {
		names["@"+directive.Name] = true
	}
	for _, def := range doc.Definitions {
		if def.Kind == ast.Enum || def.BuiltIn && strings.HasPrefix(def.Name, "__") {
			names[def.Name] = true
		}
	}
	for _, scalar := range []string{"String", "ID", "Int", "Float", "Boolean"} {
		names[scalar] = true
	}
	return names
}

func (d *differ) add(class Class, kind, coordinate, format string, args ...any) {
	d.changes = append(d.changes, Change{class, kind, coordinate, fmt.Sprintf(format, args...)})
}

func (d *differ) types() {
	p := match(maps.Values(d.old.Types), maps.Values(d.new.Types), func(t *ast.Definition) string { return t.Name })
	for _, t := range p.removed {
		if !d.vocabulary[t.Name] {
			d.add(Breaking, "TYPE_REMOVED", t.Name, "The type %s was removed.", t.Name)
		}
	}
	for _, t := range p.added {
		if !d.vocabulary[t.Name] {
			d.add(Safe, "TYPE_ADDED", t.Name, "The type %s was added.", t.Name)
		}
	}
	for _, t := range p.kept {
		if !d.vocabulary[t.old.Name] {
			d.typ(t.old, t.new)
		}
	}
}

// typ compares a type that both contracts have.
func (d *differ) typ(old, new *ast.Definition) {
	d.description(old.Name, old.Description, new.Description)
	if old.Kind != new.Kind {
		d.add(Breaking, "TYPE_CHANGED_KIND", old.Name, "%s was %s and is %s.", old.Name, kindWords[old.Kind], kindWords[new.Kind])
		return
	}
	switch old.Kind {
	case ast.Enum:
		d.enum(old, new)
	case ast.Union:
		d.members(old, new)
	case ast.InputObject:
		d.oneOf(old, new)
		d.inputFields(old, new)
	case ast.Object, ast.Interface:
		d.fields(old, new)
		d.interfaces(old, new)
		d.typeRules(old, new)
	}
}

var kindWords = map[ast.DefinitionKind]string{
	ast.Scalar: "a scalar", ast.Object: "an object type", ast.Interface: "an interface",
	ast.Union: "a union", ast.Enum: "an enum", ast.InputObject: "an input type",
}

func (d *differ) description(coordinate, old, new string) {
	if old != new {
		d.add(Safe, "DESCRIPTION_CHANGED", coordinate, "The description of %s changed.", coordinate)
	}
}

func (d *differ) deprecation(coordinate string, old, new ast.DirectiveList) {
	was, is := printDirectives(old.ForNames("deprecated")), printDirectives(new.ForNames("deprecated"))
	switch {
	case was == is:
	case is == "":
		d.add(Safe, "DEPRECATION_CHANGED", coordinate, "%s is no longer deprecated.", coordinate)
	default:
		d.add(Safe, "DEPRECATION_CHANGED", coordinate, "%s is%s.", coordinate, is)
	}
}

// pairing sets what one list has against what another has, by name.
type pairing[T any] struct {
	removed, added []T
	kept           []pair[T]
}

type pair[T any] struct{ old, new T }

func match[T any](old, new iter.Seq[T], name func(T) string) (p pairing[T]) {
	after := map[string]T{}
	for item := range new {
		after[name(item)] = item
	}
	before := map[string]bool{}
	for item := range old {
		before[name(item)] = true
		if match, ok := after[name(item)]; ok {
			p.kept = append(p.kept, pair[T]{item, match})
		} else {
			p.removed = append(p.removed, item)
		}
	}
	for item := range new {
		if !before[name(item)] {
			p.added = append(p.added, item)
		}
	}
	return p
}

package schema

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

func (d *differ) directives() {
	p := match(maps.Values(d.old.Directives), maps.Values(d.new.Directives), func(def *ast.DirectiveDefinition) string { return def.Name })
	for _, def := range p.removed {
		if at := "@" + def.Name; !d.vocabulary[at] {
			d.add(Breaking, "DIRECTIVE_REMOVED", at, "The directive %s was removed.", at)
		}
	}
	for _, def := range p.added {
		if at := "@" + def.Name; !d.vocabulary[at] {
			d.add(Safe, "DIRECTIVE_ADDED", at, "The directive %s was added.", at)
		}
	}
	for _, def := range p.kept {
		if !d.vocabulary["@"+def.old.Name] {
			d.directive(def.old, def.new)
		}
	}
}

func (d *differ) directive(old, new *ast.DirectiveDefinition) {
	at := "@" + old.Name
	d.description(at, old.Description, new.Description)
	d.arguments(at, old.Arguments, new.Arguments, directiveArguments)
	switch {
	case old.IsRepeatable && !new.IsRepeatable:
		d.add(Breaking, "DIRECTIVE_REPEATABLE_REMOVED", at, "%s can no longer be repeated.", at)
	case new.IsRepeatable && !old.IsRepeatable:
		d.add(Safe, "DIRECTIVE_REPEATABLE_ADDED", at, "%s can be repeated now.", at)
	}
	p := match(slices.Values(old.Locations), slices.Values(new.Locations), func(l ast.DirectiveLocation) string { return string(l) })
	for _, location := range p.removed {
		d.add(Breaking, "DIRECTIVE_LOCATION_REMOVED", at, "%s is no longer a location of %s.", location, at)
	}
	for _, location := range p.added {
		d.add(Safe, "DIRECTIVE_LOCATION_ADDED", at, "%s is a location of %s now.", location, at)
	}
}

// oneOf compares whether exactly one field of an input must be given.
func (d *differ) oneOf(old, new *ast.Definition) {
	was, is := old.Directives.ForName("oneOf") != nil, new.Directives.ForName("oneOf") != nil
	switch {
	case is && !was:
		d.add(Breaking, "ONE_OF_ADDED", old.Name, "Exactly one field of %s must be given now.", old.Name)
	case was && !is:
		d.add(Safe, "ONE_OF_REMOVED", old.Name, "More than one field of %s may be given now.", old.Name)
	}
}

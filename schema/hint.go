package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// place names a position in a message.
func place(pos *ast.Position) string {
	if pos == nil || pos.Src == nil {
		return "the service itself"
	}
	return fmt.Sprintf("%s:%d:%d", pos.Src.Name, pos.Line, pos.Column)
}

// hint names the known type, or directive when the name begins with @, that is
// most like a misspelt one; empty when none is close.
func (c *compiler) hint(name string) string {
	if len(c.list) > maxFaults {
		return ""
	}
	word, isDirective := strings.CutPrefix(name, "@")
	candidates := slices.Concat(c.names, slices.Sorted(maps.Keys(c.builtin)))
	if isDirective {
		candidates = slices.Sorted(maps.Keys(c.directives))
	}
	candidates = slices.DeleteFunc(candidates, func(name string) bool { return strings.HasPrefix(name, "__") })
	best := Nearest(word, candidates)
	if best == "" {
		return ""
	}
	return " (did you mean " + strings.TrimSuffix(name, word) + best + "?)"
}

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
	best, bestDistance := "", 3
	for _, candidate := range candidates {
		if strings.HasPrefix(candidate, "__") || len(candidate) > 2*len(word)+2 {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance && d < len(word) {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + strings.TrimSuffix(name, word) + best + "?)"
}

// distance is how many letters must be added, removed or changed to turn one
// word into the other. Words of very unlike length are far apart.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

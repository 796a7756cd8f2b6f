package docs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// anything stands in a page for what differs each time.
const anything = "…"

// SameJSON reports where got is not what a page says. In the strings of the page …
// stands for any text, and a string that is … alone for any value. The locations of
// errors may be left out. Numbers and the order of members are compared as JSON has
// them.
func SameJSON(want, got string) error {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return fmt.Errorf("the answer: %w: %s", err, got)
	}
	if !same(w, g) {
		return fmt.Errorf("the answer is %s", got)
	}
	return nil
}

func same(want, got any) bool {
	switch w := want.(type) {
	case string:
		g, text := got.(string)
		return w == anything || text && matches(w, g)
	case []any:
		g, list := got.([]any)
		if !list || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !same(w[i], g[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, object := got.(map[string]any)
		if !object {
			return false
		}
		if _, told := w["locations"]; !told {
			delete(g, "locations")
		}
		if len(w) != len(g) {
			return false
		}
		for name, value := range w {
			if other, has := g[name]; !has || !same(value, other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(want, got)
}

// SameLines reports which line of want is not in got, in the order of want; other
// lines may stand between. In a line of want … stands for any text.
func SameLines(want, got string) error {
	rest := strings.Split(got, "\n")
	for line := range strings.Lines(want) {
		line = strings.TrimRight(line, " \n")
		for {
			if len(rest) == 0 {
				return fmt.Errorf("%q is not in what was written:\n%s", line, got)
			}
			found := matches(line, strings.TrimRight(rest[0], " \r"))
			rest = rest[1:]
			if found {
				break
			}
		}
	}
	return nil
}

// matches reports whether text is pattern, in which … stands for any text.
func matches(pattern, text string) bool {
	first, others, wild := strings.Cut(pattern, anything)
	if !wild {
		return pattern == text
	}
	text, has := strings.CutPrefix(text, first)
	if !has {
		return false
	}
	for i := range len(text) + 1 {
		if matches(others, text[i:]) {
			return true
		}
	}
	return false
}

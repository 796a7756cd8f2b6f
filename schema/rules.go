package schema

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// constraint compiles @constraint; without one the field has no rules but the
// global caps. The directive may be nil.
func (c *compiler) constraint(field *Field, directive *ast.Directive) *Constraint {
	k := &Constraint{}
	if directive == nil {
		return k
	}
	for _, arg := range directive.Arguments {
		if arg.Value.Kind == ast.NullValue {
			continue
		}
		if !suits(arg.Name, field) {
			c.at(arg.Position, "remove "+arg.Name+", or change the type", "@constraint(%s:) has no meaning for %s, which has the type %s", arg.Name, field.Name, field.Type)
			continue
		}
		c.constraintRule(k, arg)
	}
	c.ordered(directive, "minLength", "maxLength", k.MinLength, k.MaxLength)
	c.ordered(directive, "minItems", "maxItems", k.MinItems, k.MaxItems)
	if k.Min != nil && k.Max != nil && *k.Min > *k.Max {
		c.at(directive.Position, "swap them", "no number can be at least %v and at most %v", *k.Min, *k.Max)
	}
	low, high := cmp.Or(k.ExclusiveMin, k.Min), cmp.Or(k.ExclusiveMax, k.Max)
	if (k.ExclusiveMin != nil || k.ExclusiveMax != nil) && low != nil && high != nil && *low >= *high {
		c.at(directive.Position, "widen the range", "no number lies between %v and %v", *low, *high)
	}
	return k
}

// suits reports whether a rule can be asked of the field's values.
func suits(rule string, field *Field) bool {
	switch rule {
	case "minItems", "maxItems":
		return field.Type.Elem != nil
	case "min", "max", "exclusiveMin", "exclusiveMax", "multipleOf":
		return field.Kind == KindInt || field.Kind == KindFloat || field.Kind == KindPositiveInt
	}
	return field.Kind == KindString || field.Kind == KindID || field.Kind == KindEmail || field.Kind == KindURL
}

// constraintRule sets one rule from its argument, whose literal has the right type.
func (c *compiler) constraintRule(k *Constraint, arg *ast.Argument) {
	text := arg.Value.Raw
	switch arg.Name {
	case "minLength":
		k.MinLength = c.bound(arg, MaxStringBytes)
	case "maxLength":
		k.MaxLength = c.bound(arg, MaxStringBytes)
	case "minItems":
		k.MinItems = c.bound(arg, MaxListItems)
	case "maxItems":
		k.MaxItems = c.bound(arg, MaxListItems)
	case "startsWith":
		k.StartsWith = text
	case "endsWith":
		k.EndsWith = text
	case "contains":
		k.Contains = text
	case "notContains":
		k.NotContains = text
	case "min":
		k.Min = number(arg)
	case "max":
		k.Max = number(arg)
	case "exclusiveMin":
		k.ExclusiveMin = number(arg)
	case "exclusiveMax":
		k.ExclusiveMax = number(arg)
	case "multipleOf":
		if k.MultipleOf = number(arg); *k.MultipleOf <= 0 {
			c.at(arg.Value.Position, "give a number greater than zero", "nothing is a multiple of %s", text)
		}
	case "pattern":
		pattern, err := regexp.Compile(text)
		if err != nil {
			c.at(arg.Value.Position, "write an RE2 expression (https://github.com/google/re2/wiki/Syntax)", "the pattern cannot be read: %v", err)
			return
		}
		k.Pattern = pattern
	case "format":
		k.Format = text
		if formats[text] == nil {
			c.at(arg.Value.Position, "use one of "+strings.Join(slices.Sorted(maps.Keys(formats)), ", "), "the format %q is not known", text)
		}
	}
}

// bound reads a length or a number of items.
func (c *compiler) bound(arg *ast.Argument, limit int) *int {
	n, err := strconv.Atoi(arg.Value.Raw)
	if err != nil || n < 0 || n > limit {
		c.at(arg.Value.Position, "choose a number from 0 to "+strconv.Itoa(limit), "%s cannot be %s", arg.Name, arg.Value.Raw)
	}
	return &n
}

func number(arg *ast.Argument) *float64 {
	f, _ := strconv.ParseFloat(arg.Value.Raw, 64) // its syntax was checked with the directive
	return &f
}

func (c *compiler) ordered(directive *ast.Directive, lowName, highName string, low, high *int) {
	if low != nil && high != nil && *low > *high {
		c.at(directive.Position, "swap them", "%s %d is greater than %s %d", lowName, *low, highName, *high)
	}
}

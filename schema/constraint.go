package schema

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// formats are the words of @constraint(format:) with what each one accepts.
var formats = map[string]func(string) bool{
	"byte":      func(s string) bool { _, err := base64.StdEncoding.DecodeString(s); return err == nil },
	"date":      func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
	"date-time": func(s string) bool { _, err := parseDateTime(s); return err == nil },
	"email":     func(s string) bool { return isEmail(s) },
	"ipv4":      func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is4() },
	"ipv6":      func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is6() },
	"uri":       func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() },
	"uuid":      func(s string) bool { return isUUID(s) },
}

// Check reports whether a value keeps the rules: a string, a number (int64 or
// float64), or a []any of them; nil and other values keep every rule. Rules for
// strings and numbers hold for each item of a list, those for the number of
// items hold for the outermost list alone. Where the constraint names
// no limit, MaxStringBytes and MaxListItems hold; that is also all that a nil
// Constraint asks. The error names the rule and its limit, may be shown to the
// caller, and says nothing of the value itself.
func (c *Constraint) Check(value any) error {
	if c == nil {
		c = &Constraint{}
	}
	switch v := value.(type) {
	case string:
		return c.checkString(v)
	case int64:
		return c.checkNumber(float64(v))
	case float64:
		return c.checkNumber(v)
	case []any:
		return c.checkList(v)
	}
	return nil
}

// forItems is what holds for the lists inside of a list.
func (c *Constraint) forItems(value any) *Constraint {
	if _, isList := value.([]any); !isList || c.MinItems == nil && c.MaxItems == nil {
		return c
	}
	inner := *c
	inner.MinItems, inner.MaxItems = nil, nil
	return &inner
}

func (c *Constraint) checkList(items []any) error {
	limit := MaxListItems
	if c.MaxItems != nil {
		limit = *c.MaxItems
	}
	if len(items) > limit {
		return fmt.Errorf("must have at most %s (maxItems)", count(limit, "item"))
	}
	if c.MinItems != nil && len(items) < *c.MinItems {
		return fmt.Errorf("must have at least %s (minItems)", count(*c.MinItems, "item"))
	}
	for i, item := range items {
		if err := c.forItems(item).Check(item); err != nil {
			return fmt.Errorf("item %d %w", i, err)
		}
	}
	return nil
}

func (c *Constraint) checkString(s string) error {
	if c.MaxLength == nil && len(s) > MaxStringBytes {
		return fmt.Errorf("must have at most %d bytes", MaxStringBytes)
	}
	if c.MaxLength != nil && utf8.RuneCountInString(s) > *c.MaxLength {
		return fmt.Errorf("must have at most %s (maxLength)", count(*c.MaxLength, "character"))
	}
	if c.MinLength != nil && utf8.RuneCountInString(s) < *c.MinLength {
		return fmt.Errorf("must have at least %s (minLength)", count(*c.MinLength, "character"))
	}
	switch {
	case !strings.HasPrefix(s, c.StartsWith):
		return fmt.Errorf("must start with %q (startsWith)", c.StartsWith)
	case !strings.HasSuffix(s, c.EndsWith):
		return fmt.Errorf("must end with %q (endsWith)", c.EndsWith)
	case !strings.Contains(s, c.Contains):
		return fmt.Errorf("must contain %q (contains)", c.Contains)
	case c.NotContains != "" && strings.Contains(s, c.NotContains):
		return fmt.Errorf("must not contain %q (notContains)", c.NotContains)
	case c.Pattern != nil && !c.Pattern.MatchString(s):
		return fmt.Errorf("must match %s (pattern)", c.Pattern)
	case c.Format != "" && !formats[c.Format](s):
		return fmt.Errorf("must be of the format %s (format)", c.Format)
	}
	return nil
}

func (c *Constraint) checkNumber(n float64) error {
	switch {
	case c.Min != nil && n < *c.Min:
		return fmt.Errorf("must be at least %v (min)", *c.Min)
	case c.Max != nil && n > *c.Max:
		return fmt.Errorf("must be at most %v (max)", *c.Max)
	case c.ExclusiveMin != nil && n <= *c.ExclusiveMin:
		return fmt.Errorf("must be greater than %v (exclusiveMin)", *c.ExclusiveMin)
	case c.ExclusiveMax != nil && n >= *c.ExclusiveMax:
		return fmt.Errorf("must be less than %v (exclusiveMax)", *c.ExclusiveMax)
	case c.MultipleOf != nil && !isMultiple(n, *c.MultipleOf):
		return fmt.Errorf("must be a multiple of %v (multipleOf)", *c.MultipleOf)
	}
	return nil
}

// isMultiple allows for the rounding of binary fractions: 0.3 is three times 0.1.
func isMultiple(n, step float64) bool {
	quotient := n / step
	return math.Abs(quotient-math.Round(quotient)) <= 1e-9*max(1, math.Abs(quotient))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

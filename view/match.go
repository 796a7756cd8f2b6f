package view

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tidings/fault"
	"tidings/schema"
)

// Matcher says of one record after the other what a Filter says of a list: a
// record matches if and only if a List with the filter would have it. It is
// immutable and safe for concurrent use.
type Matcher struct {
	fields []*schema.Field // whose values decide
	holds  predicate
	lead   *Filter // an eq or in that every match fulfils; nil: there is none
}

// predicate decides by the columns' values of the matcher's fields.
type predicate func(values []any) bool

// NewMatcher compiles a filter for records of r; nil matches every record. The
// faults are those of List.
func NewMatcher(r *schema.Resource, f *Filter) (*Matcher, error) {
	c := &matching{resource: r, matcher: &Matcher{}}
	holds, err := c.filter(f)
	if err != nil {
		return nil, err
	}
	c.matcher.holds = holds
	c.matcher.lead = leading(split(nil, f))
	return c.matcher, nil
}

// Match reports whether the filter holds for a record, a JSON object.
func (m *Matcher) Match(raw []byte) bool {
	var few [8]any
	return m.holds(valuesOf(few[:0], m.fields, raw))
}

// Key is a value of a field, such that equal values have equal keys, whichever
// way they were written. It is comparable; the zero Key is no value's.
type Key struct{ value any }

// Keys returns a field and all the values of it that a record can have which
// matches; no field when the filter does not say so of any.
func (m *Matcher) Keys() (f *schema.Field, keys []Key) {
	if m.lead == nil {
		return nil, nil
	}
	f = m.lead.Field
	values, isList := m.lead.Value.([]any)
	if !isList {
		values = []any{m.lead.Value}
	}
	for _, v := range values {
		value, err := bound(f.Kind, v, "")
		if err != nil {
			return nil, nil // NewMatcher has refused it
		}
		keys = append(keys, keyOf(value))
	}
	return f, keys
}

// KeyOf returns the key of a field's value in a record.
func KeyOf(f *schema.Field, raw []byte) Key {
	return keyOf(valuesOf(nil, []*schema.Field{f}, raw)[0])
}

func keyOf(value any) Key {
	if n, ok := value.(int64); ok && int64(float64(n)) == n && n < math.MaxInt64 {
		return Key{float64(n)}
	}
	return Key{value}
}

// maxLead bounds the values of a list that leads to matches.
const maxLead = 100

// leading returns the condition of which the fewest records are likely to
// match, among those that name values.
func leading(conditions []*Filter) (lead *Filter) {
	score := func(f *Filter) int {
		switch list, _ := f.Value.([]any); {
		case f.Field == nil:
			return 0
		case f.Op == "eq" && (f.Field.Unique || f.Field.Name == "id"):
			return 3
		case f.Op == "eq":
			return 2
		case f.Op == "in" && len(list) <= maxLead:
			return 1
		}
		return 0
	}
	for _, f := range conditions {
		if score(f) > 0 && (lead == nil || score(f) > score(lead)) {
			lead = f
		}
	}
	return lead
}

// valuesOf is appendFields for what may be no JSON object: that has no values.
func valuesOf(values []any, fields []*schema.Field, raw []byte) []any {
	first := len(values)
	values, err := appendFields(values, fields, raw)
	for i := range fields {
		if err != nil {
			values[first+i] = missing
		}
	}
	return values
}

// matching compiles one filter.
type matching struct {
	resource      *schema.Resource
	matcher       *Matcher
	nodes, values int
}

func (c *matching) filter(f *Filter) (predicate, error) {
	parts := split(nil, f)
	if c.nodes += max(1, len(parts)); c.nodes > maxConditions {
		return nil, errConditions
	}
	all := make([]predicate, len(parts))
	for i, part := range parts {
		var err error
		if all[i], err = c.part(part); err != nil {
			return nil, err
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return func(values []any) bool {
		for _, holds := range all {
			if !holds(values) {
				return false
			}
		}
		return true
	}, nil
}

// part compiles a comparison, an Or or a Not.
func (c *matching) part(f *Filter) (predicate, error) {
	switch {
	case f.Field != nil:
		return c.compare(f)
	case f.Not != nil:
		holds, err := c.filter(f.Not)
		return func(values []any) bool { return !holds(values) }, err
	}
	some := make([]predicate, len(f.Or))
	for i, each := range f.Or {
		var err error
		if some[i], err = c.filter(each); err != nil {
			return nil, err
		}
	}
	return func(values []any) bool {
		return slices.ContainsFunc(some, func(holds predicate) bool { return holds(values) })
	}, nil
}

// slot is where the field's value stands among the values.
func (c *matching) slot(f *schema.Field) int {
	if i := slices.Index(c.matcher.fields, f); i >= 0 {
		return i
	}
	c.matcher.fields = append(c.matcher.fields, f)
	return len(c.matcher.fields) - 1
}

func (c *matching) compare(f *Filter) (predicate, error) {
	at := "filter." + f.Field.Name + "." + f.Op
	if !f.Field.Indexed && f.Field != c.resource.Owner && f.Field.Name != "id" {
		return nil, notIndexed(c.resource, f.Field)
	}
	n := c.slot(f.Field)
	switch f.Op {
	case "in", "notIn", "between":
		return c.compareList(n, f, at)
	case "beginsWith", "contains", "notContains":
		return compareText(n, f, at)
	}
	value, err := bound(f.Field.Kind, f.Value, at)
	if err != nil {
		return nil, err
	}
	if f.Value == nil && f.Op != "eq" && f.Op != "ne" {
		return nil, errNull(at)
	}
	than := func(values []any) int { return compareValues(values[n], value) }
	switch f.Op {
	case "eq":
		return func(values []any) bool { return than(values) == 0 }, nil
	case "ne":
		return func(values []any) bool { return than(values) != 0 }, nil
	case "lt":
		return func(values []any) bool { return values[n] != missing && than(values) < 0 }, nil
	case "le":
		return func(values []any) bool { return values[n] != missing && than(values) <= 0 }, nil
	case "gt":
		return func(values []any) bool { return than(values) > 0 }, nil
	case "ge":
		return func(values []any) bool { return than(values) >= 0 }, nil
	}
	return nil, fault.Input(at, "there is no such comparison")
}

func (c *matching) compareList(n int, f *Filter, at string) (predicate, error) {
	values, err := boundList(f, at, c.values)
	if err != nil {
		return nil, err
	}
	c.values += len(values)
	if f.Op == "between" {
		low, high := values[0], values[1]
		return func(values []any) bool {
			return compareValues(values[n], low) >= 0 && compareValues(values[n], high) <= 0
		}, nil
	}
	keys := make(map[Key]bool, len(values))
	for _, v := range values {
		keys[keyOf(v)] = true
	}
	in := f.Op == "in"
	return func(values []any) bool { return keys[keyOf(values[n])] == in }, nil
}

func compareText(n int, f *Filter, at string) (predicate, error) {
	text, err := boundText(f, at)
	if err != nil {
		return nil, err
	}
	holds, absent := strings.Contains, false // what holds for null
	switch f.Op {
	case "beginsWith":
		holds = strings.HasPrefix
	case "notContains":
		holds, absent = func(s, part string) bool { return !strings.Contains(s, part) }, true
	}
	return func(values []any) bool {
		s, ok := values[n].(string)
		return ok && holds(s, text) || !ok && absent
	}, nil
}

// compareValues orders what columns hold as SQLite does: numbers by value,
// below all text, and text by its bytes.
func compareValues(a, b any) int {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b)
		}
		return 1
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b)
		case float64:
			return compareMixed(a, b)
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return -compareMixed(b, a)
		case float64:
			return cmp.Compare(a, b)
		}
	}
	return -1
}

// compareMixed compares by value, without rounding either.
func compareMixed(n int64, f float64) int {
	switch {
	case f < math.MinInt64:
		return 1
	case f >= math.MaxInt64: // which rounds up to 1<<63
		return -1
	}
	if c := cmp.Compare(n, int64(f)); c != 0 {
		return c
	}
	return cmp.Compare(0, f-math.Trunc(f))
}

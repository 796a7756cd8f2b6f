package view

import (
	"math"
	"strings"
	"unicode/utf8"

	"tidings/fault"
	"tidings/schema"
)

// The limits of one filter, far above what a person writes and below what
// SQLite refuses.
const (
	maxConditions = 500
	maxValues     = 10_000
)

// Filter chooses records. All the parts that are set must hold; a nil filter,
// and one with nothing set, holds for every record.
//
// A missing value and null are the same thing. Logic is two-valued: not f holds
// exactly where f does not, so ne, notIn and notContains hold for null, and lt,
// le, gt, ge, between, beginsWith and contains do not.
//
// Text is compared by code point, upper and lower case apart. DateTime values
// are compared as moments, whatever their offset.
type Filter struct {
	And []*Filter
	Or  []*Filter // not nil but empty: holds for none
	Not *Filter
	// Field, which must be indexed, Op and Value are one comparison. Field nil:
	// there is none.
	Field *schema.Field
	// Op is one of eq ne lt le gt ge in notIn between, and for text beginsWith
	// contains notContains.
	Op string
	// Value fits the field's kind: string, int64 or int, float64, bool; nil for
	// eq and ne null. A []any of those for in, notIn (which may hold nil) and
	// between (which is two values, both included).
	Value any
}

// where composes a condition and collects the values it is bound to.
type where struct {
	table *table
	sql   strings.Builder
	args  []any
	nodes int
	// plain: the comparison being written may not use an index.
	plain bool
}

func (w *where) add(sql string, args ...any) {
	w.sql.WriteString(sql)
	w.args = append(w.args, args...)
}

// all writes conditions that must all hold. Of their indexes only the guide's
// may be used.
func (w *where) all(conditions []*Filter, guide *Filter) error {
	if len(conditions) == 0 {
		w.add("TRUE")
	}
	for i, f := range conditions {
		if i > 0 {
			w.add(" AND ")
		}
		w.plain = f != guide
		if err := w.filter(f); err != nil {
			return err
		}
	}
	return nil
}

// filter writes one filter, in parentheses where it has several parts.
func (w *where) filter(f *Filter) error {
	parts := split(nil, f)
	if w.nodes += max(1, len(parts)); w.nodes > maxConditions {
		return errConditions
	}
	if len(parts) == 0 {
		w.add("TRUE")
		return nil
	}
	w.add("(")
	for i, part := range parts {
		if i > 0 {
			w.add(" AND ")
		}
		if err := w.part(part); err != nil {
			return err
		}
	}
	w.add(")")
	return nil
}

// part writes a comparison, an Or or a Not.
func (w *where) part(f *Filter) error {
	switch {
	case f.Field != nil:
		return w.compare(f)
	case f.Not != nil:
		w.add("NOT ")
		return w.filter(f.Not)
	case len(f.Or) == 0:
		w.add("FALSE")
		return nil
	}
	w.add("(")
	for i, each := range f.Or {
		if i > 0 {
			w.add(" OR ")
		}
		if err := w.filter(each); err != nil {
			return err
		}
	}
	w.add(")")
	return nil
}

// column returns what to compare with.
func (w *where) column(c *column) string {
	if w.plain {
		return w.table.dialect.plain(c)
	}
	return c.name
}

// compared writes SQL that compares a column with values.
func (w *where) compared(c *column, sql string, values ...any) {
	w.sql.WriteString(sql)
	for _, v := range values {
		w.args = append(w.args, w.table.dialect.bind(c, v))
	}
}

// compare writes one comparison. See missing for what stands for null.
func (w *where) compare(f *Filter) error {
	at := "filter." + f.Field.Name + "." + f.Op
	c := w.table.byField[f.Field.Name]
	if c == nil || !c.indexed {
		return notIndexed(w.table.resource, f.Field)
	}
	switch f.Op {
	case "in", "notIn", "between":
		return w.compareList(c, f, at)
	case "beginsWith", "contains", "notContains":
		return w.compareText(c, f, at)
	}
	name := w.column(c)
	value, err := bound(c.field.Kind, f.Value, at)
	if err != nil {
		return err
	}
	if f.Value == nil && f.Op != "eq" && f.Op != "ne" {
		return errNull(at)
	}
	switch f.Op {
	case "eq":
		w.compared(c, name+" = ?", value)
	case "ne":
		w.compared(c, name+" <> ?", value)
	case "lt":
		w.compared(c, "("+name+" > ? AND "+name+" < ?)", missing, value)
	case "le":
		w.compared(c, "("+name+" > ? AND "+name+" <= ?)", missing, value)
	case "gt":
		w.compared(c, name+" > ?", value)
	case "ge":
		w.compared(c, name+" >= ?", value)
	default:
		return fault.Input(at, "there is no such comparison")
	}
	return nil
}

func (w *where) compareList(c *column, f *Filter, at string) error {
	values, err := boundList(f, at, len(w.args))
	if err != nil {
		return err
	}
	if f.Op == "between" {
		w.compared(c, w.column(c)+" BETWEEN ? AND ?", values...)
		return nil
	}
	if len(values) == 0 {
		w.add(map[string]string{"in": "FALSE", "notIn": "TRUE"}[f.Op])
		return nil
	}
	values = padded(values)
	w.add(w.column(c) + map[string]string{"in": " IN (?", "notIn": " NOT IN (?"}[f.Op])
	w.compared(c, strings.Repeat(",?", len(values)-1)+")", values...)
	return nil
}

// padded repeats the last value up to a power of two, so that lists of all
// lengths share a few prepared statements.
func padded(values []any) []any {
	for len(values)&(len(values)-1) != 0 {
		values = append(values, values[len(values)-1])
	}
	return values
}

func (w *where) compareText(c *column, f *Filter, at string) error {
	text, err := boundText(f, at)
	if err != nil {
		return err
	}
	name := w.column(c)
	switch f.Op {
	case "beginsWith":
		if !w.table.dialect.ranged(text) {
			w.add(w.table.dialect.place(c)+" = 1", w.table.dialect.part(text))
			break
		}
		w.compared(c, "("+name+" >= ?", text) // text sorts above missing
		if next, ok := successor(text); ok {
			w.compared(c, " AND "+name+" < ?", next)
		}
		w.add(")")
	case "contains":
		w.compared(c, "("+name+" > ? AND ", missing)
		w.add(w.table.dialect.place(c)+" > 0)", w.table.dialect.part(text))
	case "notContains":
		w.compared(c, "("+name+" = ? OR ", missing)
		w.add(w.table.dialect.place(c)+" = 0)", w.table.dialect.part(text))
	}
	return nil
}

var errConditions = fault.Input("filter", "it has more than %d conditions", maxConditions)

func notIndexed(r *schema.Resource, f *schema.Field) error {
	return fault.Input("filter."+f.Name, "%s.%s has no @index, so it cannot be filtered by", r.Name, f.Name)
}

func errNull(at string) error {
	return fault.Input(at, "null is neither more nor less than a value: use eq or ne")
}

// boundList turns the values of in, notIn and between into what the column
// holds. So many values stand in the filter before them.
func boundList(f *Filter, at string, before int) ([]any, error) {
	list, ok := f.Value.([]any)
	if !ok {
		return nil, fault.Input(at, "a list is needed")
	}
	if before+len(list) > maxValues {
		return nil, fault.Input(at, "the filter has more than %d values", maxValues)
	}
	if f.Op == "between" && (len(list) != 2 || list[0] == nil || list[1] == nil) {
		return nil, fault.Input(at, "two values are needed, the lowest and the highest")
	}
	values := make([]any, len(list), 2*len(list)+1)
	for i, v := range list {
		var err error
		if values[i], err = bound(f.Field.Kind, v, at); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// boundText returns what beginsWith, contains and notContains compare with.
func boundText(f *Filter, at string) (string, error) {
	if !isText(f.Field.Kind) {
		return "", fault.Input(at, "%s is not text", f.Field.Name)
	}
	text, ok := f.Value.(string)
	if !ok {
		return "", fault.Input(at, "text is needed")
	}
	return text, nil
}

// successor returns the first text after all those that begin with the prefix;
// false when there is none.
func successor(prefix string) (string, bool) {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case r == 0xD7FF:
			return prefix + string(rune(0xE000)), true // over the surrogates
		case r < utf8.MaxRune:
			return prefix + string(r+1), true
		}
	}
	return "", false
}

func isText(k schema.Kind) bool {
	switch k {
	case schema.KindInt, schema.KindPositiveInt, schema.KindFloat, schema.KindBoolean, schema.KindDateTime:
		return false
	}
	return true
}

// bound checks a value of a filter and turns it into what the column holds.
func bound(kind schema.Kind, value any, at string) (any, error) {
	switch v := value.(type) {
	case nil:
		return missing, nil
	case string:
		if kind == schema.KindDateTime {
			if t := timeValue(v); t != missing {
				return t, nil
			}
			return nil, fault.Input(at, "%q is not a DateTime", v)
		}
		if isText(kind) {
			return v, nil
		}
	case bool:
		if kind == schema.KindBoolean && v {
			return int64(1), nil
		} else if kind == schema.KindBoolean {
			return int64(0), nil
		}
	case int:
		return bound(kind, int64(v), at)
	case int64:
		if isNumber(kind) {
			return v, nil
		}
	case float64:
		if isNumber(kind) && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return nil, fault.Input(at, "the value does not fit the field's type")
}

func isNumber(k schema.Kind) bool {
	return k == schema.KindInt || k == schema.KindPositiveInt || k == schema.KindFloat
}

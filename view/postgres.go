package view

import (
	"crypto/sha256"
	"math"
	"math/big"
	"strconv"
	"strings"

	"tidings/schema"
)

// postgresDialect: text is kept as bytes, since PostgreSQL's text cannot hold
// U+0000 and its order depends on how the database was made. A byte goes before
// it, so that missing, which is no byte at all, is less than every text, the
// empty one included. Numbers, and what stands for true and false, are of the
// type numeric: it compares whole numbers with others by value and without
// rounding, and has what is less than each.
//
// An index takes no more than some 2,700 bytes of a row. Of a longer text than
// longestText its column has the beginning and, after it, a digest of the whole,
// which a second column has: so the order of texts that begin alike for so long
// is that of their digests, and everything else is as ever.
type postgresDialect struct {
	schema string // quoted
}

const (
	// textMark goes before every text.
	textMark = 1
	// longestText is how many bytes of a text a column has.
	longestText = 1600
)

// longestName leaves room for a suffix in the 63 bytes of a name.
const longestName = 50

// names that every table of PostgreSQL has already.
func (postgresDialect) names(taken ...string) names {
	n := newNames(append(taken, "past", "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")...)
	n.longest = longestName
	return n
}

func (d postgresDialect) table(name string) string { return d.schema + "." + name }

// plain leaves it to PostgreSQL, which knows how often values occur. What it does
// not know, that an order with a limit may pass over many records until it has
// enough, sorted decides for it.
func (postgresDialect) plain(c *column) string { return c.name }

func (postgresDialect) sorted(c *column) string {
	if numeric(c.field.Kind) {
		return "(" + c.name + " + 0)"
	}
	return "(" + c.name + " || ''::bytea)"
}

func (postgresDialect) bind(c *column, value any) any {
	if numeric(c.field.Kind) {
		return decimal(value)
	}
	if s, ok := value.(string); ok {
		return textKey(s)
	}
	return []byte{} // missing
}

func (postgresDialect) shown(c *column) string {
	if numeric(c.field.Kind) {
		return c.name + "::text"
	}
	return text(c)
}

func (postgresDialect) value(c *column, scanned any) any {
	switch s := scanned.(type) {
	case []byte:
		if len(s) > 0 {
			return string(s[1:])
		}
	case string:
		switch n, err := strconv.ParseInt(s, 10, 64); {
		case c.field.Kind == schema.KindFloat:
			if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) {
				return f
			}
		case err == nil:
			return n
		}
	}
	return missing
}

func (postgresDialect) place(c *column) string {
	return "position(?::bytea IN substr(" + text(c) + ", 2))"
}

func (postgresDialect) part(text string) any { return []byte(text) }

func (postgresDialect) ranged(text string) bool { return len(text) <= longestText }

// whole is the name of the column that holds a text which is too long for its
// own, or NULL. No field is called so.
func whole(c *column) string { return strings.TrimSuffix(c.name, `"`) + `$w"` }

// long reports whether a column's texts may be too long.
func long(c *column) bool { return isText(c.field.Kind) && c.field.Name != "id" }

// text is a column's value, marked, however long it is.
func text(c *column) string {
	if !long(c) {
		return c.name
	}
	return "COALESCE(" + whole(c) + ", " + c.name + ")"
}

// numeric reports whether columns of the kind hold numbers.
func numeric(k schema.Kind) bool { return isNumber(k) || k == schema.KindBoolean }

// textKey is a text as its column holds it.
func textKey(s string) []byte {
	if len(s) <= longestText {
		return marked(s)
	}
	sum := sha256.Sum256([]byte(s))
	return append(marked(s[:longestText]), sum[:]...)
}

// marked is a text with what goes before every text.
func marked(s string) []byte { return append(append(make([]byte, 0, 1+len(s)), textMark), s...) }

// exact is up to where every whole number is a float64.
const exact = 1 << 53

// decimal writes a number so that no two have the same text, and all have the
// order of what is written: whole numbers digit by digit, others in the fewest
// digits that tell them apart.
func decimal(value any) string {
	switch n := value.(type) {
	case int64:
		return strconv.FormatInt(n, 10)
	case float64:
		switch {
		case math.IsInf(n, -1):
			return "-Infinity"
		case n == math.Trunc(n) && math.Abs(n) > exact:
			return big.NewFloat(n).Text('f', 0)
		}
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return "-Infinity"
}

package view

import "context"

// dialect is how a database says what the two of them say differently. What is
// asked, and what it means, is composed once for both.
type dialect interface {
	// names gives out names for what stands beside each other; those that are
	// taken are given to nobody.
	names(taken ...string) names
	// table is the name of a table wherever it is not beside the others.
	table(name string) string
	// plain is a column in a comparison that should not lead to the records.
	plain(c *column) string
	// sorted is a column in an order that should be made by sorting few records.
	sorted(c *column) string
	// bind is a column's value, or missing, as the database is given it.
	bind(c *column, value any) any
	// shown is what is selected to learn a column's value, and value what that is
	// once it was scanned.
	shown(c *column) string
	value(c *column, scanned any) any
	// place is where in a text column a text stands: 0 when it does not. It has
	// one parameter, which part makes of the text.
	place(c *column) string
	part(text string) any
	// ranged reports whether the texts that begin with this one are those from it
	// to the next that does not.
	ranged(text string) bool
}

// runner runs what was composed.
type runner interface {
	// query calls fn for each row; fn scans it.
	query(ctx context.Context, query string, args []any, fn func(scan func(...any) error) error) error
	// number reads a statement's one number.
	number(ctx context.Context, query string, args []any) (int, error)
	// snapshot runs fn so that all its reads see the same state.
	snapshot(ctx context.Context, fn func(context.Context) error) error
}

// sqliteDialect: a column holds values as they are, since SQLite lets each have
// a type of its own.
type sqliteDialect struct{}

func (sqliteDialect) names(taken ...string) names      { return newNames(taken...) }
func (sqliteDialect) table(name string) string         { return name }
func (sqliteDialect) plain(c *column) string           { return "+" + c.name }
func (sqliteDialect) sorted(c *column) string          { return c.name }
func (sqliteDialect) bind(_ *column, value any) any    { return value }
func (sqliteDialect) shown(c *column) string           { return c.name }
func (sqliteDialect) value(_ *column, scanned any) any { return scanned }
func (sqliteDialect) place(c *column) string           { return "instr(" + c.name + ", ?)" }
func (sqliteDialect) ranged(string) bool               { return true }
func (sqliteDialect) part(text string) any             { return text }

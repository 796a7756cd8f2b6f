package view

import (
	"context"
	"fmt"
	"strings"

	"tidings/fault"
	"tidings/schema"
)

// Query asks for one page of a list, as a Relay connection does
// (https://relay.dev/graphql/connections.htm).
type Query struct {
	Type   string
	Filter *Filter // nil: every record
	Order  []Order // empty: by ascending id
	// First asks for that many records after After, Last for that many before
	// Before. Not both; neither is First of schema.DefaultPage. The caller caps
	// them: nothing here does.
	First, Last int
	// After and Before are cursors of a Page with the same Order, empty for the
	// list's beginning and end. Both may be set.
	After, Before string
	// Owner, not empty: only records that this subject owns.
	Owner string
}

// Order is one term of an order. A missing value is less than every other. By
// several fields, a page costs what sorting the records with the same first
// value costs; by one field, or with one record a value, nothing is sorted.
// Whether the caller may see the field is for the one who asks: order and
// cursors give values away.
type Order struct {
	Field *schema.Field // must be indexed
	Desc  bool
}

// Page is a part of a list, in the list's order whichever way it was asked for.
// Others may hold it too: never modify it.
type Page struct {
	Records [][]byte // raw JSON
	// Cursors has one for each record. It says where in the order the record
	// was: it stays valid when records come, go or change.
	Cursors []string
	// HasNext and HasPrevious say whether the list has records after the last
	// and before the first of this page.
	HasNext, HasPrevious bool
}

// List returns one page. Records that exist throughout a walk over the pages are
// seen exactly once, whatever is inserted or deleted meanwhile.
//
// A field without an index, a value that does not fit, a cursor that is none or
// belongs to another order are fault.BadUserInput.
func (v *View) List(ctx context.Context, q Query) (Page, error) {
	t, err := v.table(q.Type)
	if err != nil {
		return Page{}, fmt.Errorf("list: %w", err)
	}
	found, err := v.recall(ctx, q.key(), []*table{t}, func() (found remembered, err error) {
		found.page, err = v.list(ctx, t, q)
		return found, err
	})
	return found.page, err
}

// list reads a page from SQLite.
func (v *View) list(ctx context.Context, t *table, q Query) (Page, error) {
	l, err := newListing(t, q)
	if err != nil {
		return Page{}, err
	}
	if err := v.settle(ctx, t); err != nil {
		return Page{}, fmt.Errorf("list %s: %w", q.Type, err)
	}
	r, err := v.reader(ctx)
	if err != nil {
		return Page{}, fmt.Errorf("list %s: %w", q.Type, err)
	}
	defer v.giveBack(r)
	page, err := l.read(ctx, r)
	if err != nil {
		return Page{}, v.failed(ctx, "list "+q.Type, err)
	}
	return page, nil
}

// Count returns how many records the filter holds for; owner narrows as in
// Query. Its price grows with the number of records that it counts.
func (v *View) Count(ctx context.Context, typ string, f *Filter, owner string) (int, error) {
	t, err := v.table(typ)
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	w, err := t.count(f, owner)
	if err != nil {
		return 0, err
	}
	return v.number(ctx, t, w)
}

// count composes the statement of Count.
func (t *table) count(f *Filter, owner string) (*where, error) {
	w := &where{table: t}
	w.add("SELECT count(*) FROM " + t.name + " WHERE ")
	return w, w.filter(&Filter{And: t.conjuncts(f, owner)})
}

// listing is a query that was understood. The page is read in the direction of
// travel: from After onwards, or from Before backwards.
type listing struct {
	table         *table
	query         Query
	sorting       sorting
	backward      bool
	size          int
	after, before []any // places; nil for none
	conditions    []*Filter
	guide         *Filter // the condition that leads to the records; nil: the order does
}

func newListing(t *table, q Query) (l *listing, err error) {
	l = &listing{table: t, query: q, size: q.First, conditions: t.conjuncts(q.Filter, q.Owner)}
	switch {
	case q.First < 0:
		return nil, fault.Input("first", "it cannot be negative")
	case q.Last < 0:
		return nil, fault.Input("last", "it cannot be negative")
	case q.First > 0 && q.Last > 0:
		return nil, fault.Input("last", "first and last cannot be combined: use one of them")
	case q.Last > 0:
		l.backward, l.size = true, q.Last
	case q.First == 0:
		l.size = schema.DefaultPage
	}
	if l.sorting, err = t.sort(q.Order); err != nil {
		return nil, err
	}
	if q.After != "" {
		if l.after, err = l.sorting.place(q.After, "after"); err != nil {
			return nil, err
		}
	}
	if q.Before != "" {
		if l.before, err = l.sorting.place(q.Before, "before"); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// read reads the page, and what lies beyond the cursors, from one state.
func (l *listing) read(ctx context.Context, r runner) (page Page, err error) {
	if err := l.chooseGuide(ctx, r); err != nil {
		return page, err
	}
	if l.after == nil && l.before == nil {
		more, err := l.readPage(ctx, r, &page)
		page.HasNext, page.HasPrevious = more && !l.backward, more && l.backward
		return page, err
	}
	err = r.snapshot(ctx, func(ctx context.Context) error {
		more, err := l.readPage(ctx, r, &page)
		if err != nil {
			return err
		}
		if page.HasPrevious, err = l.beyond(ctx, r, more && l.backward, l.after, true); err != nil {
			return err
		}
		page.HasNext, err = l.beyond(ctx, r, more && !l.backward, l.before, false)
		return err
	})
	return page, err
}

// readPage fills the page and reports whether there was more in the direction
// of travel.
func (l *listing) readPage(ctx context.Context, r runner, page *Page) (more bool, err error) {
	w, err := l.pageSQL()
	if err != nil {
		return false, err
	}
	values := make([]any, len(l.sorting.terms))
	into := make([]any, 1+len(values))
	var doc []byte
	into[0] = &doc
	for i := range values {
		into[1+i] = &values[i]
	}
	page.Records = make([][]byte, 0, l.size)
	page.Cursors = make([]string, 0, l.size)
	err = r.query(ctx, w.sql.String(), w.args, func(scan func(...any) error) error {
		if len(page.Records) == l.size {
			more = true
			return nil
		}
		if err := scan(into...); err != nil {
			return err
		}
		cursor, err := l.sorting.cursor(l.shown(values))
		page.Records, page.Cursors = append(page.Records, doc), append(page.Cursors, cursor)
		doc = nil
		return err
	})
	if l.backward {
		reverse(page)
	}
	return more, err
}

// shown turns what was scanned of the order's columns into their values.
func (l *listing) shown(values []any) []any {
	for i, t := range l.sorting.terms {
		values[i] = l.table.dialect.value(t.column, values[i])
	}
	return values
}

func reverse(page *Page) {
	for i, j := 0, len(page.Records)-1; i < j; i, j = i+1, j-1 {
		page.Records[i], page.Records[j] = page.Records[j], page.Records[i]
		page.Cursors[i], page.Cursors[j] = page.Cursors[j], page.Cursors[i]
	}
}

// pageSQL composes the statement of the page, one record more than it holds.
func (l *listing) pageSQL() (*where, error) {
	w := &where{table: l.table}
	w.add("SELECT doc")
	for _, t := range l.sorting.terms {
		w.add(", " + l.table.dialect.shown(t.column) + ` AS "$"`) // or ORDER BY may mean what is shown
	}
	w.add(" FROM " + l.table.name + " WHERE ")
	if err := w.all(l.conditions, l.guide); err != nil {
		return nil, err
	}
	w.past(l.sorting.terms, l.after, false, false)
	w.past(l.sorting.terms, l.before, true, false)
	sorts := l.guide != nil && !l.inOrder(l.guide)
	w.add(" ORDER BY ")
	for i, t := range l.sorting.terms {
		if i > 0 {
			w.add(", ")
		}
		if sorts {
			w.add(l.table.dialect.sorted(t.column))
		} else {
			w.add(t.column.name)
		}
		if t.desc != l.backward {
			w.add(" DESC")
		}
	}
	w.add(" LIMIT ?", int64(l.size)+1)
	return w, nil
}

// beyond reports whether the list has records on the far side of a cursor: at
// or before After, at or after Before. They are outside of the page whatever
// it holds. known is what the page itself has shown already.
func (l *listing) beyond(ctx context.Context, r runner, known bool, place []any, backward bool) (bool, error) {
	if known || place == nil {
		return known, nil
	}
	w := &where{table: l.table}
	w.add("SELECT CASE WHEN EXISTS (SELECT 1 FROM " + l.table.name + " WHERE ")
	if err := w.all(l.conditions, l.guide); err != nil {
		return false, err
	}
	w.past(l.sorting.terms, place, backward, true)
	w.add(") THEN 1 ELSE 0 END")
	n, err := r.number(ctx, w.sql.String(), w.args)
	return n != 0, err
}

// past writes the condition that a record comes after the place in the order,
// or before it; inclusive adds the place itself. A nil place is no condition.
func (w *where) past(terms []term, place []any, backward, inclusive bool) {
	if place == nil {
		return
	}
	w.add(" AND ")
	if oneWay(terms) {
		w.pastTuple(terms, place, compare(terms[0].desc != backward, inclusive))
		return
	}
	for i, t := range terms {
		less, last := t.desc != backward, i == len(terms)-1
		if last {
			w.compared(t.column, t.column.name+compare(less, inclusive), place[i])
			break
		}
		// the first comparison is what an index can use
		w.compared(t.column, "("+t.column.name+compare(less, true)+" AND ("+t.column.name+compare(less, false)+" OR ", place[i], place[i])
	}
	w.add(strings.Repeat("))", len(terms)-1))
}

// pastTuple compares all terms at once, which is one range of an index.
func (w *where) pastTuple(terms []term, place []any, comparison string) {
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.column.name
	}
	operator := strings.TrimSuffix(comparison, "?")
	w.add("(" + strings.Join(names, ", ") + ")" + operator + "(")
	for i, t := range terms {
		w.compared(t.column, map[bool]string{true: "?", false: ", ?"}[i == 0], place[i])
	}
	w.add(")")
}

func oneWay(terms []term) bool {
	for _, t := range terms {
		if t.desc != terms[0].desc {
			return false
		}
	}
	return true
}

// compare returns the comparison with a parameter.
func compare(less, inclusive bool) string {
	switch {
	case less && inclusive:
		return " <= ?"
	case less:
		return " < ?"
	case inclusive:
		return " >= ?"
	}
	return " > ?"
}

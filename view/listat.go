package view

import (
	"context"
	"fmt"
)

// ListAt is a List that says of which state it is: the page shows every change
// of the log up to the position and none after it. Of the type it shows at least
// what Position says, of which the position may be ahead, and behind by changes
// of other types. HasPrevious is not told.
func (v *View) ListAt(ctx context.Context, q Query) (page Page, position uint64, err error) {
	t, err := v.table(q.Type)
	if err != nil {
		return page, 0, fmt.Errorf("list: %w", err)
	}
	l, err := newListing(t, q)
	if err != nil {
		return page, 0, err
	}
	if err := v.settle(ctx, t); err != nil {
		return page, 0, fmt.Errorf("list %s: %w", q.Type, err)
	}
	r, err := v.reader(ctx)
	if err != nil {
		return page, 0, fmt.Errorf("list %s: %w", q.Type, err)
	}
	defer v.giveBack(r)
	err = r.snapshot(ctx, func(ctx context.Context) error {
		if position, err = r.position(ctx); err != nil {
			return err
		}
		page, err = l.readHere(ctx, r)
		return err
	})
	if err != nil {
		return Page{}, 0, v.failed(ctx, "list "+q.Type, err)
	}
	return page, position, nil
}

// readHere reads the page alone, in a state that the caller has chosen.
func (l *listing) readHere(ctx context.Context, r runner) (page Page, err error) {
	if err := l.chooseGuide(ctx, r); err != nil {
		return page, err
	}
	page.HasNext, err = l.readPage(ctx, r, &page)
	return page, err
}

// CountTo is a Count that stops at most.
func (v *View) CountTo(ctx context.Context, typ string, f *Filter, owner string, most int) (int, error) {
	t, err := v.table(typ)
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	w, err := t.countTo(f, owner, most)
	if err != nil {
		return 0, err
	}
	return v.number(ctx, t, w)
}

// countTo composes the statement of CountTo.
func (t *table) countTo(f *Filter, owner string, most int) (*where, error) {
	w := &where{table: t}
	w.add("SELECT count(*) FROM (SELECT 1 FROM " + t.name + " WHERE ")
	err := w.filter(&Filter{And: t.conjuncts(f, owner)})
	w.add(" LIMIT ?) AS few", int64(most))
	return w, err
}

// number reads a number that a statement over one table gives.
func (v *View) number(ctx context.Context, t *table, w *where) (int, error) {
	typ := t.resource.Name
	if err := v.settle(ctx, t); err != nil {
		return 0, fmt.Errorf("count %s: %w", typ, err)
	}
	r, err := v.reader(ctx)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", typ, err)
	}
	defer v.giveBack(r)
	n, err := r.number(ctx, w.sql.String(), w.args)
	if err != nil {
		return 0, v.failed(ctx, "count "+typ, err)
	}
	return n, nil
}

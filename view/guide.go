package view

import (
	"context"
	"fmt"
	"slices"
)

// narrowEnough is how many records may be read through an index and sorted for
// one page: about half a millisecond.
const narrowEnough = 500

// A list has two ways to its page: through the index of its order, passing over
// what the filter leaves out, or through the index of one of the filter's
// conditions, sorting what it finds. The first is slow when few records match,
// the second when many do. SQLite cannot tell (our values are parameters and a
// LIMIT does not count for it), so we look, at most narrowEnough index entries
// far, and leave it only the index that is right.

// conjuncts takes a filter apart into conditions that must all hold, each a
// comparison, an Or or a Not alone. Owner becomes one of them.
func (t *table) conjuncts(f *Filter, owner string) []*Filter {
	all := split(nil, f)
	switch {
	case owner == "":
		return all
	case t.owner == nil:
		return append(all, &Filter{Or: []*Filter{}}) // nobody owns any
	}
	return append(all, &Filter{Field: t.owner.field, Op: "eq", Value: owner})
}

func split(all []*Filter, f *Filter) []*Filter {
	if f == nil {
		return all
	}
	if f.Field != nil {
		all = append(all, &Filter{Field: f.Field, Op: f.Op, Value: f.Value})
	}
	for _, each := range f.And {
		all = split(all, each)
	}
	if f.Or != nil {
		all = append(all, &Filter{Or: f.Or})
	}
	if f.Not != nil {
		all = append(all, &Filter{Not: f.Not})
	}
	return all
}

// guided reports whether an index can lead to the records that f holds for.
func guided(f *Filter) bool {
	switch {
	case f == nil || f.Not != nil:
		return false
	case f.Or != nil:
		return !slices.ContainsFunc(f.Or, func(each *Filter) bool {
			return !slices.ContainsFunc(split(nil, each), guided)
		})
	}
	return slices.Contains([]string{"eq", "lt", "le", "gt", "ge", "in", "between", "beginsWith"}, f.Op)
}

// chooseGuide settles which of the conditions may use an index.
func (l *listing) chooseGuide(ctx context.Context, r runner) error {
	candidates := slices.DeleteFunc(slices.Clone(l.conditions), func(f *Filter) bool { return !guided(f) })
	for i, f := range candidates {
		inOrder := l.inOrder(f)
		if inOrder && len(candidates) == 1 {
			l.guide = f // its index is the order's, or as good
			return nil
		}
		narrow, err := l.narrow(ctx, r, f)
		if err != nil {
			return err
		}
		if narrow || inOrder && l.guide == nil {
			l.guide = candidates[i]
		}
		if narrow {
			return nil
		}
	}
	return nil
}

// inOrder reports whether the condition's index is in the order of the list.
func (l *listing) inOrder(f *Filter) bool {
	first := l.sorting.terms[0].column.field.Name
	return f.Field != nil && (f.Field.Name == first || f.Op == "eq" && first == "id")
}

// narrow reports whether few records match the condition.
func (l *listing) narrow(ctx context.Context, r runner, f *Filter) (bool, error) {
	w := where{table: l.table}
	w.add(fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s WHERE ", l.table.name))
	if err := w.all([]*Filter{f}, f); err != nil {
		return false, err
	}
	w.add(" LIMIT ?) AS few", int64(narrowEnough))
	n, err := r.number(ctx, w.sql.String(), w.args)
	return n < narrowEnough, err
}

package graphql

import (
	"maps"
	"slices"

	"tidings/fault"
	"tidings/schema"
	"tidings/view"
)

// newQuery reads the arguments of a list field. What is null counts as not
// given, but for what eq and ne compare with. A page has at most so many records.
func newQuery(r *schema.Resource, args map[string]any, most int) (q view.Query, err error) {
	q.Type = r.Name
	if q.First, err = pageSize(args, "first", most); err != nil {
		return q, err
	}
	if q.Last, err = pageSize(args, "last", most); err != nil {
		return q, err
	}
	if q.First == 0 && q.Last == 0 {
		q.First = min(schema.DefaultPage, most)
	}
	q.After, _ = args["after"].(string)
	q.Before, _ = args["before"].(string)
	if q.Filter, err = filterOf(r, args); err != nil {
		return q, err
	}
	terms, _ := args["orderBy"].([]any)
	for _, term := range terms {
		object := term.(map[string]any)
		name, _ := object["field"].(string)
		q.Order = append(q.Order, view.Order{Field: r.Field(name), Desc: object["direction"] == "DESC"})
	}
	return q, nil
}

func pageSize(args map[string]any, name string, most int) (int, error) {
	n, ok := args[name].(int64)
	if ok && (n < 1 || n > int64(most)) {
		return 0, &overLimit{"page", fault.Input(name, "%s must be from 1 to %d", name, most)}
	}
	return int(n), nil
}

// maxNesting is how many levels of and, or and not a filter may have.
const maxNesting = 5

// filterOf reads the argument that chooses records; nil: all of them.
func filterOf(r *schema.Resource, args map[string]any) (*view.Filter, error) {
	object, ok := args["filter"].(map[string]any)
	switch {
	case !ok:
		return nil, nil
	case nesting(object) > maxNesting:
		return nil, fault.Input("filter", "and, or and not must be nested at most %d deep", maxNesting)
	}
	return newFilter(r, object), nil
}

// nesting returns how many levels of and, or and not stand in a filter.
func nesting(object map[string]any) (levels int) {
	for _, word := range []string{"and", "or", "not"} {
		switch below := object[word].(type) {
		case map[string]any:
			levels = max(levels, 1+nesting(below))
		case []any:
			levels = max(levels, 1)
			for _, item := range below {
				levels = max(levels, 1+nesting(item.(map[string]any)))
			}
		}
	}
	return levels
}

// newFilter reads a filter object: everything in it must hold.
func newFilter(r *schema.Resource, object map[string]any) *view.Filter {
	all := &view.Filter{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		if value == nil {
			continue
		}
		part := &view.Filter{}
		switch name {
		case "and":
			part.And = newFilters(r, value)
		case "or":
			part.Or = newFilters(r, value)
		case "not":
			part.Not = newFilter(r, value.(map[string]any))
		default:
			part = newComparisons(r.Field(name), value.(map[string]any))
		}
		all.And = append(all.And, part)
	}
	return all
}

func newFilters(r *schema.Resource, value any) []*view.Filter {
	list := []*view.Filter{} // not nil: an empty or holds for none
	for _, item := range value.([]any) {
		list = append(list, newFilter(r, item.(map[string]any)))
	}
	return list
}

func newComparisons(f *schema.Field, words map[string]any) *view.Filter {
	all := &view.Filter{}
	for _, op := range slices.Sorted(maps.Keys(words)) {
		value := words[op]
		if value == nil && op != "eq" && op != "ne" {
			continue
		}
		all.And = append(all.And, &view.Filter{Field: f, Op: op, Value: value})
	}
	return all
}

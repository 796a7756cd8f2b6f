package graphql

import (
	"cmp"
	"fmt"
	"math"

	"tidings/schema"
)

// Limits bound what a request may ask for. Zero means the default of a field, a
// negative number that there is no such limit. docs/limits.md says the same for
// operators.
type Limits struct {
	// Depth is how many levels of fields an operation may have; default 10.
	// Fields below __schema and __type have a limit of their own.
	Depth int
	// Tokens is how many tokens a document may have, comments included; default 15,000.
	Tokens int
	// Aliases is how many aliased fields an operation may have, fragments
	// expanded; default 30.
	Aliases int
	// Roots is how many root fields an operation may have; default 20.
	Roots int
	// Body is how many bytes the body of a request may have; default 1 MiB.
	Body int
	// Page is the greatest first, last and limit; default 100.
	Page int
	// ListItems and StringBytes bound each list and each text in arguments and
	// variables; default 1,000 items and 64 KiB. What a mutation writes is bounded
	// by them when they are set; otherwise by the worker, where a @constraint
	// may say else.
	ListItems, StringBytes int
	// Snapshot is how many records a subscription may begin with; default 10,000.
	Snapshot int
	// Cost is how much one operation may cost.
	Cost Budgets
	// Measure tells the log which operations are too deep or too dear, and runs them.
	Measure bool

	inputs bool // ListItems and StringBytes are for mutations, too
}

// Budgets are what one operation of a caller may cost, by what is known of the
// caller: 1,000, 10,000 and 100,000 by default. An administrator is a user.
type Budgets struct {
	Anonymous, User, Service int
}

func (l Limits) withDefaults() Limits {
	l.inputs = l.ListItems > 0 || l.StringBytes > 0
	for _, each := range []struct {
		limit    *int
		fallback int
	}{
		{&l.Depth, 10}, {&l.Tokens, 15_000}, {&l.Aliases, 30}, {&l.Roots, 20}, {&l.Body, MaxBody}, {&l.Page, schema.MaxPage},
		{&l.Snapshot, 10_000}, {&l.ListItems, schema.MaxListItems}, {&l.StringBytes, schema.MaxStringBytes},
		{&l.Cost.Anonymous, 1_000}, {&l.Cost.User, 10_000}, {&l.Cost.Service, 100_000},
	} {
		*each.limit = cmp.Or(*each.limit, each.fallback)
		if *each.limit < 0 {
			*each.limit = math.MaxInt32
		}
	}
	return l
}

// tooLarge refuses lists and texts beyond the limits.
func (l *Limits) tooLarge(v any) *inputError {
	switch v := v.(type) {
	case string:
		if len(v) > l.StringBytes {
			return &inputError{limit: "text", text: fmt.Sprintf("A text may have at most %d bytes.", l.StringBytes)}
		}
	case []any:
		if len(v) > l.ListItems {
			return &inputError{limit: "list", text: fmt.Sprintf("A list may have at most %d items.", l.ListItems)}
		}
		for i, item := range v {
			if bad := l.tooLarge(item); bad != nil {
				return bad.item(i)
			}
		}
	case map[string]any:
		for name, member := range v {
			if bad := l.tooLarge(member); bad != nil {
				return bad.below("." + name)
			}
		}
	}
	return nil
}

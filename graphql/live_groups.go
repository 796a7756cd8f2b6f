package graphql

import (
	"cmp"
	"slices"

	"tidings/schema"
)

// LiveGroup is a group of subscribers who get the same results: each event is
// executed and encoded once for all of them.
type LiveGroup struct {
	Field     string // the root field
	Operation string // the name that its document gives it; empty: none
	Document  string
	Variables map[string]any // coerced; nobody may change them
	// Roles and Subject are all of its callers that the results depend on; without
	// any, they are the same for everybody.
	Roles   schema.Roles
	Subject string
	Members int
}

// Groups returns the groups with the most members, at most so many, largest
// first. Each shard's lock is taken once, for as long as it takes to count.
func (e *Engine) Groups(most int) []LiveGroup {
	type counted struct {
		*group
		members int
	}
	var all []counted
	for _, s := range e.live.allShards() {
		s.mu.Lock()
		for _, g := range s.groups {
			all = append(all, counted{g, len(g.members)})
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.members, a.members), cmp.Compare(a.key, b.key))
	})
	list := make([]LiveGroup, 0, min(most, len(all)))
	for _, g := range all[:min(most, len(all))] {
		list = append(list, LiveGroup{
			Field: g.op.plan.roots[0].nodes[0].Name, Operation: g.op.def.Name, Document: g.op.document.text, Variables: g.op.vars,
			Roles: g.who.Roles, Subject: g.who.Subject, Members: g.members,
		})
	}
	return list
}

// allShards are those of the feed and those of the bus.
func (l *live) allShards() []*shard {
	l.mu.Lock()
	all := slices.Clone(l.shards)
	l.mu.Unlock()
	l.taps.mu.Lock()
	defer l.taps.mu.Unlock()
	for _, p := range l.taps.by {
		all = append(all, p.shard)
	}
	return all
}

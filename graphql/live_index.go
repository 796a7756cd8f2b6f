package graphql

import (
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// topic is what a group listens to: the changes of one record, those of the
// records that have a value, or those of a whole type.
type topic struct {
	typ   string
	id    string        // empty: not of one record
	field *schema.Field // nil: whatever values the records have
	key   view.Key
}

// index finds the groups that an event may concern, without looking at others.
type index struct {
	topics map[topic]map[*group]struct{}
	// fields are those by whose values groups of a type are found, with the number
	// of topics.
	fields map[string]map[*schema.Field]int
	// types has every group, for events that may concern all.
	types map[string]map[*group]struct{}
}

func newIndex() index {
	return index{
		topics: map[topic]map[*group]struct{}{},
		fields: map[string]map[*schema.Field]int{},
		types:  map[string]map[*group]struct{}{},
	}
}

// topicsOf returns the narrowest topics under which no event is missed that the
// group sees: none when it sees nothing at all.
func topicsOf(g *group) []topic {
	t := topic{typ: g.typ(), id: g.id()}
	if t.id != "" || g.sight == nil {
		return []topic{t}
	}
	var keys []view.Key
	if t.field, keys = g.sight.Keys(); t.field == nil {
		return []topic{t}
	}
	topics := make([]topic, len(keys))
	for i, key := range keys {
		t.key = key
		topics[i] = t
	}
	return topics
}

func (g *group) typ() string {
	if b := g.op.root.binding; b != nil {
		return b.String()
	}
	return g.op.root.generated.Resource.Name
}

func (g *group) id() string {
	if g.op.root.binding != nil {
		return ""
	}
	id, _ := g.op.root.args["id"].(string) // never an empty one: coercion refuses it
	return id
}

func (x *index) add(g *group) {
	put(x.types, g.typ(), g)
	for _, t := range g.topics {
		put(x.topics, t, g)
		if t.field == nil {
			continue
		}
		if x.fields[t.typ] == nil {
			x.fields[t.typ] = map[*schema.Field]int{}
		}
		x.fields[t.typ][t.field]++
	}
}

func (x *index) remove(g *group) {
	drop(x.types, g.typ(), g)
	for _, t := range g.topics {
		drop(x.topics, t, g)
		if t.field == nil {
			continue
		}
		fields := x.fields[t.typ]
		if fields[t.field]--; fields[t.field] == 0 {
			delete(fields, t.field)
		}
	}
}

func put[K comparable](groups map[K]map[*group]struct{}, key K, g *group) {
	if groups[key] == nil {
		groups[key] = map[*group]struct{}{}
	}
	groups[key][g] = struct{}{}
}

func drop[K comparable](groups map[K]map[*group]struct{}, key K, g *group) {
	if delete(groups[key], g); len(groups[key]) == 0 {
		delete(groups, key)
	}
}

// listening returns the groups that the event may concern, each once.
func (x *index) listening(ev resource.Event) (list []*group) {
	if ev.Lost { // nobody knows which values the record had meanwhile
		for g := range x.types[ev.Type] {
			if id := g.id(); id == "" || id == ev.ID {
				list = append(list, g)
			}
		}
		return list
	}
	add := func(t topic) {
		for g := range x.topics[t] {
			list = append(list, g)
		}
	}
	add(topic{typ: ev.Type})
	add(topic{typ: ev.Type, id: ev.ID})
	for f := range x.fields[ev.Type] {
		now := topic{typ: ev.Type, field: f, key: view.KeyOf(f, ev.Raw)}
		add(now)
		if ev.Before == nil {
			continue
		}
		old := now
		if old.key = view.KeyOf(f, ev.Before); old == now {
			continue
		}
		for g := range x.topics[old] {
			if _, both := x.topics[now][g]; !both {
				list = append(list, g)
			}
		}
	}
	return list
}

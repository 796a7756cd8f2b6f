package resource

import (
	"encoding/json"

	"tidings/fault"
	"tidings/schema"
)

// linked is the input of a change with the ids of records that earlier changes
// create, where it refers to them. These are known before anything is written.
func (b *bundle) linked(i int) (json.RawMessage, error) {
	change := b.tx.Changes[i]
	if len(change.Refs) == 0 {
		return change.Input, nil
	}
	input, err := membersOf(change.Input)
	if err != nil || input == nil {
		return nil, fault.New(fault.BadUserInput, "the input is not a JSON object")
	}
	for name, place := range change.Refs {
		if place < 0 || place >= i || b.tx.Changes[place].Verb != Create || !leadsTo(b.w.model.Resource(change.Type), name, b.tx.Changes[place].Type) {
			return nil, fault.Input("input."+name, "%s cannot refer to the change at place %d: that must come before, and create a record to which %s leads", name, place, name)
		}
		input[name] = quoted(b.parts[place].id)
	}
	return encodeValue(input)
}

// leadsTo reports whether the key of a relation holds ids of a type.
func leadsTo(r *schema.Resource, key, typ string) bool {
	if r == nil {
		return false
	}
	for _, f := range r.Fields {
		if rel := f.Relation; rel != nil && !rel.Many && rel.Field == key && rel.Target.Name == typ {
			return true
		}
	}
	return false
}

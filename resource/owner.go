package resource

import (
	"encoding/json"

	"tidings/schema"
)

// Owner returns the subject that owns the record; empty when nobody does.
func Owner(r *schema.Resource, raw []byte) string {
	if r.Owner == nil || raw == nil {
		return ""
	}
	return stringMember(raw, r.Owner.Name)
}

// stringMember reads one string member of a JSON object.
func stringMember(raw []byte, name string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return ""
	}
	var s string
	if json.Unmarshal(members[name], &s) != nil {
		return ""
	}
	return s
}

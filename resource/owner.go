package resource

import (
	"tidings/auth"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// Owner returns the subject that owns the record; empty when nobody does.
func Owner(r *schema.Resource, record []byte) string {
	if r.Owner == nil {
		return ""
	}
	return rawjson.String(record, r.Owner.Name)
}

// May reports whether the caller may act on a record of r by the given rule.
// The record is looked into only when its owner decides.
func May(who auth.Principal, rule schema.Rule, r *schema.Resource, record []byte) bool {
	return who.May(rule, "") || rule.Roles.Has(schema.Owner) && who.May(rule, Owner(r, record))
}

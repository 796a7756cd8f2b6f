package resource

import (
	"encoding/json"
	"strconv"

	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// A record whose type has a @version field counts its changes: 1 when it is
// created, one more with each change, its deletion among them. The tombstone
// keeps the count, so that a record which is created again under the same id
// goes on from there, and no version is ever that of two states. A record that
// was stored before its type had the field has the version 0.

// versionAfter is the version that follows a stored one.
func versionAfter(stored json.RawMessage) json.RawMessage {
	return strconv.AppendInt(nil, versionOf(stored)+1, 10)
}

// nextVersion is that of a record which is created where there was one before.
func nextVersion(r *schema.Resource, tombstone []byte) json.RawMessage {
	var found [1]rawjson.Extent
	if tombstone == nil || !rawjson.Find(tombstone, []string{r.Version.Name}, found[:]) {
		return versionAfter(nil)
	}
	return versionAfter(found[0].Of(tombstone))
}

// Counted reports whether a tombstone keeps a version: a record that is created
// again goes on from there. It needs no schema; no other member is a number.
func Counted(tombstone []byte) bool {
	stub, err := membersOf(tombstone)
	if err != nil {
		return false
	}
	for _, value := range stub {
		if versionOf(value) > 0 {
			return true
		}
	}
	return false
}

// versionOf reads a version; 0 where there is none.
func versionOf(raw json.RawMessage) int64 {
	n, _ := strconv.ParseInt(string(raw), 10, 64) // what is no number counts as none
	return n
}

// checkExpected refuses an expected version that is none.
func checkExpected(raw json.RawMessage) error {
	if _, err := strconv.ParseInt(string(raw), 10, 64); err != nil && !isNull(raw) {
		return fault.Input("input."+schema.ExpectedVersion, "%s must be a whole number", schema.ExpectedVersion)
	}
	return nil
}

// expected refuses the change of a record that has another version than the
// caller expects. Which one it has is told to those who may read it.
func (d *draft) expected(record members, owner string) error {
	given := d.input[schema.ExpectedVersion]
	if d.r.Version == nil || isNull(given) {
		return nil
	}
	want, have := versionOf(given), versionOf(record[d.r.Version.Name])
	if want == have {
		return nil
	}
	refused := &fault.Error{Code: fault.Conflict, Field: "input." + schema.ExpectedVersion,
		Message: "the " + d.r.Name + " was changed meanwhile: it does not have the version " + strconv.FormatInt(want, 10) + "; read it again"}
	rule := d.r.Version.Auth[schema.Read]
	if d.who.May(d.r.Auth[schema.Read], owner) && (rule == nil || d.who.May(*rule, owner)) {
		refused.CurrentVersion = &have
		refused.Message = "the " + d.r.Name + " was changed meanwhile: it has the version " + strconv.FormatInt(have, 10) + ", not " + strconv.FormatInt(want, 10) + "; read it again"
	}
	return refused
}

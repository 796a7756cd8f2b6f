package resource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tidings/bus"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// Given is the state of one record as it is told from elsewhere: by an export, or
// by another system.
type Given struct {
	Type, ID string
	// Record is the JSON object as a whole; its ids, owners, times and numbers stay
	// as they are, and nothing is filled in. Of a deleted record it may be empty.
	Record []byte
	// Deleted says that the record is to be gone.
	Deleted bool
}

// Loadable is a Given that fits the schema, in the form in which the log keeps it.
type Loadable struct {
	Type, ID string
	Deleted  bool
	raw      []byte
	r        *schema.Resource
	version  int64 // that was told, where the type counts versions
}

// Size is how many bytes of the log it takes, more or less.
func (l Loadable) Size() int { return len(l.raw) + 256 }

// UnfitError says why a Given cannot be loaded, by field and without its values.
type UnfitError struct{ Violations []Violation }

// Error names the record and what is wrong with it.
func (e *UnfitError) Error() string {
	var b strings.Builder
	for i, v := range e.Violations {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s ", v.Type)
		if v.Field != "" {
			b.WriteString(v.Field + " ")
		}
		b.WriteString(v.Reason)
	}
	return b.String()
}

// Fit makes a Given loadable. Members that the schema does not have are left out,
// and named in unknown. The error is an *UnfitError. It is a pure function.
func Fit(m *schema.Model, g Given) (l Loadable, unknown []string, err error) {
	l = Loadable{Type: g.Type, ID: g.ID, Deleted: g.Deleted, r: m.Resource(g.Type)}
	if len(g.ID) > maxID {
		return l, nil, unfit(g, "id", fmt.Sprintf("has %d bytes; at most %d are allowed", len(g.ID), maxID))
	}
	if g.Deleted && l.r != nil {
		l.version = givenVersion(l.r, g.Record)
		return l, nil, nil
	}
	if v := Audit(m, g.Type, g.ID, g.Record); v != nil {
		return l, nil, &UnfitError{Violations: v}
	}
	record, err := membersOf(g.Record)
	if err != nil {
		return l, nil, unfit(g, "", "is not a JSON object")
	}
	if asString(record["id"]) != g.ID {
		return l, nil, unfit(g, "id", "is not the id that the line names")
	}
	for name, value := range record {
		f := l.r.Field(name)
		if f == nil || !f.Stored() {
			unknown = append(unknown, name)
			continue
		}
		if record[name], err = canonical(f, value); err != nil {
			return l, nil, unfit(g, name, "cannot be read")
		}
	}
	l.raw = encode(l.r, record)
	l.version = givenVersion(l.r, l.raw)
	return l, unknown, nil
}

// givenVersion is the version that a record or a deletion was told with; 0 for none.
func givenVersion(r *schema.Resource, raw []byte) int64 {
	stub, err := membersOf(raw)
	if err != nil || r.Version == nil {
		return 0
	}
	return versionOf(stub[r.Version.Name])
}

func unfit(g Given, field, reason string) error {
	return &UnfitError{Violations: []Violation{{Type: g.Type, ID: g.ID, Field: field, Flaw: FlawValue, Reason: reason}}}
}

// canonical is a value that Audit has passed in the one form in which commands
// write it, so that equal values are equal bytes: reservations depend on that.
func canonical(f *schema.Field, raw []byte) ([]byte, error) {
	if isNull(raw) {
		return null, nil
	}
	if f.Object == nil {
		return check(f, raw, "")
	}
	value, ok := rawjson.Parse(raw)
	if !ok {
		return nil, fmt.Errorf("%s is not JSON", f.Name)
	}
	return encodeValue(value)
}

// same reports whether the stored record says what is to be loaded. It may have
// been changed more often: to put a version back would make it that of two states.
func (l Loadable) same(stored []byte) bool {
	record, err := membersOf(stored)
	if err != nil {
		return false
	}
	if v := l.r.Version; v != nil && versionOf(record[v.Name]) >= l.version {
		given, _ := membersOf(l.raw) // Fit has made it
		record[v.Name] = given[v.Name]
	}
	return bytes.Equal(encode(l.r, record), l.raw)
}

// counts reports whether a deletion has to be told to a log that does not have the
// record: it could be created again, and would begin with versions that it has had.
func (l Loadable) counts(last *bus.Message) bool {
	again := l.r.Owner != nil && l.r.Owner.Name == "id"
	return again && l.version > 0 && (last == nil || givenVersion(l.r, last.Data) < l.version)
}

// owner is that of a record of which only a deletion may be known.
func (l Loadable) owner(current []byte) string {
	if current == nil { // counts: it is the id
		return l.ID
	}
	return Owner(l.r, current)
}

// counted is the version that the record gets: the one that was told, but more
// than what the record, or its tombstone, has had. Nil: nobody has counted yet.
func (l Loadable) counted(last *bus.Message) json.RawMessage {
	version := l.version
	if last != nil {
		version = max(version, givenVersion(l.r, last.Data)+1)
	}
	if version == 0 {
		return nil
	}
	return strconv.AppendInt(nil, version, 10)
}

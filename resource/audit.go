package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"tidings/internal/rawjson"
	"tidings/schema"
)

// Flaw is a way in which a stored record does not fit a schema.
type Flaw string

// The flaws.
const (
	// FlawType: the schema has no resource of the record's type.
	FlawType Flaw = "TYPE_REMOVED"
	// FlawMissing: a field that must have a value has none, and no default.
	FlawMissing Flaw = "MISSING"
	// FlawValue: a value is not of the field's type, or not in its form.
	FlawValue Flaw = "WRONG_VALUE"
	// FlawConstraint: a value of the right type breaks its @constraint.
	FlawConstraint Flaw = "CONSTRAINT"
	// FlawDuplicate: another record has the same value of a @unique field.
	FlawDuplicate Flaw = "DUPLICATE"
	// FlawRecord: what is stored is not a record at all.
	FlawRecord Flaw = "NO_RECORD"
)

// Violation is one flaw of one stored record.
type Violation struct {
	Type, ID string
	Field    string // or a path into it, such as address.city; empty when it is the record as a whole
	Flaw     Flaw
	Reason   string // follows the field's name: "must be one of A, B". It never shows the value
}

// Audit says what makes a stored record invalid under a schema; nothing when
// it is valid. It is a pure function of one record: duplicates of unique values
// are found by Inspect. A field that the record does not have, since the schema
// grew after it was written, is a flaw only where it must have a value and has
// no default: reading fills in the rest. Members that the schema does not know
// are none: they are left out of answers and dropped by the next change.
func Audit(m *schema.Model, typ, id string, raw []byte) []Violation {
	whole := func(flaw Flaw, reason string) []Violation {
		return []Violation{{Type: typ, ID: id, Flaw: flaw, Reason: reason}}
	}
	r := m.Resource(typ)
	if r == nil {
		return whole(FlawType, "the schema has no resource of this name")
	}
	var record members
	if err := json.Unmarshal(raw, &record); err != nil || record == nil {
		return whole(FlawRecord, "what is stored is not a JSON object")
	}
	var list []Violation
	auditFields(r.Fields, record, "", func(v Violation) {
		v.Type, v.ID = typ, id
		if !slices.Contains(list, v) { // of the items of a list, one is enough
			list = append(list, v)
		}
	})
	return list
}

// auditFields looks at the members of a record, or of an object inside of one;
// path leads to that object. Defaults are filled in for records alone: absent
// there is no flaw.
func auditFields(fields []*schema.Field, record members, path string, found func(Violation)) {
	for _, f := range fields {
		raw := record[f.Name]
		place := path + f.Name
		switch {
		case !f.Stored(), raw == nil && f.Default != nil && path == "", isNull(raw) && !f.Type.NonNull:
		case raw == nil && path == "":
			found(Violation{Field: place, Flaw: FlawMissing, Reason: "is required and absent: give the field a @default, or make it nullable"})
		case raw == nil:
			found(Violation{Field: place, Flaw: FlawMissing, Reason: "is required and absent: make the field nullable"})
		case isNull(raw):
			found(Violation{Field: place, Flaw: FlawMissing, Reason: "must not be null"})
		case f.Object != nil:
			auditObjects(f, f.Type, raw, place, found)
		default:
			if flaw, reason := auditLeaf(f, raw); flaw != "" {
				found(Violation{Field: place, Flaw: flaw, Reason: reason})
			}
		}
	}
}

// auditObjects looks at the stored value of a field with objects in it: an
// object, or a list, which is not null.
func auditObjects(f *schema.Field, typ *schema.Type, raw json.RawMessage, place string, found func(Violation)) {
	if typ.Elem == nil {
		auditObject(f.Object, raw, place, found)
		return
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		found(Violation{Field: place, Flaw: FlawValue, Reason: "must be a list"})
		return
	}
	if err := f.Constraint.Check(make([]any, len(items))); err != nil {
		found(Violation{Field: place, Flaw: FlawConstraint, Reason: err.Error()})
	}
	for _, item := range items {
		switch {
		case !isNull(item):
			auditObjects(f, typ.Elem, item, place, found)
		case typ.Elem.NonNull:
			found(Violation{Field: place, Flaw: FlawMissing, Reason: "has an item that must not be null"})
		}
	}
}

func auditObject(o *schema.Object, raw json.RawMessage, place string, found func(Violation)) {
	var object members
	if json.Unmarshal(raw, &object) != nil {
		found(Violation{Field: place, Flaw: FlawValue, Reason: "must be an object"})
		return
	}
	if o.Abstract() {
		name := asString(object["__typename"])
		i := slices.IndexFunc(o.Members, func(member *schema.Object) bool { return member.Name == name })
		if i < 0 {
			found(Violation{Field: place, Flaw: FlawValue, Reason: "must be of a type that belongs to " + o.Name})
			return
		}
		o = o.Members[i]
	}
	auditFields(o.Fields, object, place+".", found)
}

// auditLeaf looks at a stored value without objects in it, which is not null.
func auditLeaf(f *schema.Field, raw json.RawMessage) (Flaw, string) {
	value, err := decodeValue(raw)
	if err != nil {
		return FlawValue, "is not JSON"
	}
	parsed, err := f.Parse(value)
	if err == nil {
		if !sameForm(value, parsed) {
			return FlawValue, fmt.Sprintf("is not in the form in which a value of the type %s is kept", f.Type)
		}
		return "", ""
	}
	reason := itemNumber.ReplaceAllString(err.Error(), "has an item that ")
	free := *f
	free.Constraint = nil
	if _, ofType := free.Parse(value); ofType == nil {
		return FlawConstraint, reason
	}
	return FlawValue, reason
}

// itemNumber begins the refusal of an item; which one it was differs from
// record to record.
var itemNumber = regexp.MustCompile(`^(item \d+ )+`)

func decodeValue(raw json.RawMessage) (any, error) {
	value, ok := rawjson.Parse(raw)
	if !ok {
		return nil, errors.New("it is not JSON")
	}
	return value, nil
}

// sameForm reports whether a value is stored as the field would store it now:
// Parse is kinder to callers, of whom it takes one item for a list and a number
// for an ID. Answers copy what is stored, so there it must be right.
func sameForm(stored, parsed any) bool {
	switch p := parsed.(type) {
	case []any:
		s, ok := stored.([]any)
		if !ok || len(s) != len(p) {
			return false
		}
		for i := range p {
			if !sameForm(s[i], p[i]) {
				return false
			}
		}
		return true
	case int64, float64:
		_, ok := stored.(json.Number)
		return ok
	case string:
		s, ok := stored.(string)
		return ok && s == p
	}
	return true // null, booleans and JSON have one form
}

// rulesFormat changes when Audit begins to look at more.
const rulesFormat = 1

// rulesOf hashes everything of a schema that decides whether a stored record
// is valid, and which values are unique.
func rulesOf(m *schema.Model) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "rules %d %s\n", rulesFormat, m.Fingerprint)
	seen := map[*schema.Object]bool{}
	for _, r := range m.Resources {
		hashRules(hash, r.Name, r.Fields, seen)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func hashRules(w io.Writer, owner string, fields []*schema.Field, seen map[*schema.Object]bool) {
	for _, f := range fields {
		if !f.Stored() {
			continue
		}
		constraint, _ := json.Marshal(f.Constraint) // numbers, texts and expressions always encode
		fmt.Fprintf(w, "%s.%s %s %d %q default %t unique %t %s\n", owner, f.Name, f.Type, f.Kind, f.Enum, f.Default != nil, f.Unique, constraint)
		if o := f.Object; o != nil && !seen[o] {
			seen[o] = true
			hashRules(w, o.Name, o.Fields, seen)
			for _, member := range o.Members {
				fmt.Fprintf(w, "%s has %s\n", o.Name, member.Name)
				hashRules(w, member.Name, member.Fields, seen)
			}
		}
	}
}

package resource

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"tidings/schema"
)

// members is a record taken apart: its JSON values by name.
type members map[string]json.RawMessage

var null = json.RawMessage("null")

// encode writes a record as the log keeps it: compact JSON, the stored fields
// in the order of the schema. A member that is nil is left out.
func encode(r *schema.Resource, record members) []byte {
	out := []byte{'{'}
	for _, f := range r.Fields {
		value := record[f.Name]
		if value == nil || !f.Stored() {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, quoted(f.Name)...)
		out = append(out, ':')
		out = append(out, value...)
	}
	return append(out, '}')
}

// Unique is one value of a unique field.
type Unique struct {
	Field string
	Hash  string // digest of the value, as it stands in the subject
}

// uniques returns the unique values that record holds and other does not. The
// id is not among them: its uniqueness is that of the record's subject.
func uniques(r *schema.Resource, record, other members) []Unique {
	var list []Unique
	for _, f := range r.Fields {
		if !f.Unique || f.Name == "id" || isNull(record[f.Name]) || bytes.Equal(record[f.Name], other[f.Name]) {
			continue
		}
		list = append(list, Unique{Field: f.Name, Hash: digest(record[f.Name])})
	}
	return list
}

func digest(value json.RawMessage) string {
	sum := sha256.Sum256(value)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// isNull reports whether a member is absent or null.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null"
}

// quoted returns s as a JSON string, with <, > and & as they are.
func quoted(s string) json.RawMessage {
	raw, _ := encodeValue(s) // a string always encodes
	return raw
}

// asString reads a JSON string; empty when it is none.
func asString(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // what is no string is empty
	return s
}

package resource

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"tidings/internal/rawjson"
	"tidings/schema"
)

// members is a record taken apart: its JSON values by name.
type members map[string]json.RawMessage

var null = json.RawMessage("null")

// membersOf takes a JSON object apart. Its values are parts of raw. The error is
// that of encoding/json, whose meaning it has: of members with one name the last
// one counts, and null has none.
func membersOf(raw []byte) (members, error) {
	m := members{}
	escaped := false
	if rawjson.Valid(raw) {
		err := rawjson.Members(raw, func(key, value []byte) {
			escaped = escaped || !plainText(key)
			m[string(key)] = value
		})
		if err == nil && !escaped {
			return m, nil
		}
	}
	m = nil
	err := json.Unmarshal(raw, &m)
	return m, err
}

// encode writes a record as the log keeps it: compact JSON, the stored fields
// in the order of the schema. A member that is nil is left out.
func encode(r *schema.Resource, record members) []byte {
	values := make([]json.RawMessage, len(r.Fields))
	for i, f := range r.Fields {
		values[i] = record[f.Name]
	}
	return encodeValues(r, values)
}

// encodeValues writes a record of which each field's value is at its place.
func encodeValues(r *schema.Resource, values []json.RawMessage) []byte {
	size := 2
	for i, value := range values {
		size += len(r.Fields[i].Name) + len(value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, f := range r.Fields {
		value := values[i]
		if value == nil || !f.Stored() {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, f.Name...) // a name of GraphQL: nothing to escape
		out = append(out, '"', ':')
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

// uniqueValues returns the unique values of a new record.
func uniqueValues(r *schema.Resource, values []json.RawMessage) []Unique {
	var list []Unique
	for i, f := range r.Fields {
		if f.Unique && f.Name != "id" && !isNull(values[i]) {
			list = append(list, Unique{Field: f.Name, Hash: digest(values[i])})
		}
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
	if !plainText(s) {
		raw, _ := encodeValue(s) // a string always encodes
		return raw
	}
	raw := append(make([]byte, 0, len(s)+2), '"')
	return append(append(raw, s...), '"')
}

// plainText reports whether a text stands in JSON as it is.
func plainText[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// asString reads a JSON string; empty when it is none.
func asString(raw json.RawMessage) string { return rawjson.Unquote(raw) }

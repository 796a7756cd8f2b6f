package resource

import "encoding/json"

// MembersOf takes an object apart.
func MembersOf(raw []byte) (map[string]json.RawMessage, error) { return membersOf(raw) }

// Quoted is a text as a JSON string.
func Quoted(s string) json.RawMessage { return quoted(s) }

// EncodeValue encodes without escapes for HTML.
func EncodeValue(v any) (json.RawMessage, error) { return encodeValue(v) }

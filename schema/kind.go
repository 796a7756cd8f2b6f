package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kinds gives the kind of each scalar that a record can hold, by its SDL name.
var kinds = map[string]Kind{
	"String": KindString, "ID": KindID, "Int": KindInt, "Float": KindFloat, "Boolean": KindBoolean,
	"DateTime": KindDateTime, "EmailAddress": KindEmail, "URL": KindURL, "UUID": KindUUID,
	"PositiveInt": KindPositiveInt, "Cursor": KindCursor, "Date": KindDate, "JSON": KindJSON,
}

// String returns the scalar's name in SDL; "enum" and "object" for the others.
func (k Kind) String() string {
	for name, kind := range kinds {
		if kind == k {
			return name
		}
	}
	if k == KindEnum {
		return "enum"
	}
	return "object"
}

// text reports whether values of the kind are JSON strings.
func (k Kind) text() bool {
	switch k {
	case KindInt, KindFloat, KindBoolean, KindPositiveInt, KindJSON, KindObject, KindEmbedded:
		return false
	}
	return true
}

// Parse checks one leaf value that is not null and returns it as it is stored:
// string, int64, float64, bool, or json.RawMessage for JSON. It takes the Go values that come out of JSON
// or of GraphQL literals: string, bool, int, int64, float64, json.Number.
// DateTime becomes UTC without trailing zeros, UUID lower case, an integer ID a
// string. A refusal is an error whose text may be shown to the caller. Values
// of an enum are not compared here: Field.Parse does that.
func (k Kind) Parse(value any) (any, error) {
	switch k {
	case KindInt:
		return parseInt(value, math.MinInt32)
	case KindPositiveInt:
		return parseInt(value, 1)
	case KindFloat:
		return parseFloat(value)
	case KindBoolean:
		if b, ok := value.(bool); ok {
			return b, nil
		}
		return nil, errors.New("must be true or false")
	case KindObject:
		return nil, errors.New("takes no value: it is a relation")
	case KindEmbedded:
		return nil, errors.New("must be an object")
	case KindJSON:
		return parseJSON(value)
	case KindID:
		if n, err := parseInt(value, math.MinInt64); err == nil {
			return strconv.FormatInt(n.(int64), 10), nil
		}
	}
	s, ok := value.(string)
	if !ok {
		return nil, errors.New("must be a string")
	}
	return k.parseText(s)
}

func (k Kind) parseText(s string) (any, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("must be valid UTF-8")
	}
	switch k {
	case KindID:
		if s == "" {
			return nil, errors.New("must not be empty")
		}
	case KindDateTime:
		return parseDateTime(s)
	case KindDate:
		if !isDate(s) {
			return nil, errors.New("must be a day as RFC 3339 writes it, such as 2026-11-20")
		}
	case KindEmail:
		if !isEmail(s) {
			return nil, errors.New("must be an e-mail address such as ada@example.org, at most 254 bytes long")
		}
	case KindURL:
		if !isURL(s) || !parsesAsURL(s) {
			return nil, errors.New("must be an absolute http or https URL such as https://example.org/ada.png")
		}
	case KindUUID:
		if !isUUID(s) {
			return nil, errors.New("must be a UUID such as 0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55")
		}
		return strings.ToLower(s), nil
	}
	return s, nil
}

// Check reports whether one stored JSON value that is not null may be shown as
// a value of the kind. It does not allocate unless the value has escapes in it.
func (k Kind) Check(raw []byte) error {
	if !k.accepts(raw) {
		return fmt.Errorf("the stored value is not a valid %s", k)
	}
	return nil
}

func (k Kind) accepts(raw []byte) bool {
	switch k {
	case KindInt:
		_, ok := scanInt(raw, math.MinInt32)
		return ok
	case KindPositiveInt:
		_, ok := scanInt(raw, 1)
		return ok
	case KindFloat:
		return len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9')
	case KindBoolean:
		return string(raw) == "true" || string(raw) == "false"
	case KindJSON:
		return len(raw) > 0
	case KindObject, KindEmbedded:
		return false
	}
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return false
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') >= 0 {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return false
		}
		body = []byte(s)
	}
	switch k {
	case KindDateTime:
		return isDateTime(body)
	case KindDate:
		return isDate(body)
	case KindEmail:
		return isEmail(body)
	case KindURL:
		return isURL(body)
	case KindUUID:
		return isUUID(body)
	}
	return true
}

// maxJSONDepth bounds how deep the values of JSON fields are nested.
const maxJSONDepth = 32

// parseJSON encodes any value, compact and with sorted members.
func parseJSON(value any) (any, error) {
	if deeper(value, maxJSONDepth) {
		return nil, fmt.Errorf("must be nested at most %d levels deep", maxJSONDepth)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil {
		return nil, errors.New("must be a JSON value")
	}
	if buf.Len() > MaxStringBytes {
		return nil, fmt.Errorf("must have at most %d bytes", MaxStringBytes)
	}
	return json.RawMessage(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// deeper reports whether lists and objects are nested more than limit levels.
func deeper(value any, limit int) bool {
	switch v := value.(type) {
	case []any:
		return limit == 0 || slices.ContainsFunc(v, func(item any) bool { return deeper(item, limit-1) })
	case map[string]any:
		for _, member := range v {
			if limit == 0 || deeper(member, limit-1) {
				return true
			}
		}
	}
	return false
}

// parseInt takes whole numbers from low to 2^31-1; with low below 32 bits, any
// that fit in 64.
func parseInt(value any, low int64) (any, error) {
	high := int64(math.MaxInt32)
	if low < math.MinInt32 {
		high = math.MaxInt64
	}
	refused := func() error { return fmt.Errorf("must be a whole number from %d to %d", low, high) }
	var n int64
	switch v := value.(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return nil, refused()
		}
		n = int64(v)
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			n = whole
			break
		}
		f, err := v.Float64()
		if err != nil {
			return nil, refused()
		}
		return parseInt(f, low)
	default:
		return nil, refused()
	}
	if n < low || n > high {
		return nil, refused()
	}
	return n, nil
}

func parseFloat(value any) (any, error) {
	var f float64
	switch v := value.(type) {
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case float64:
		f = v
	case json.Number:
		var err error
		if f, err = v.Float64(); err != nil {
			return nil, errors.New("must be a finite number")
		}
	default:
		return nil, errors.New("must be a number")
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("must be a finite number")
	}
	return f, nil
}

// scanInt reads a JSON integer of at most 32 bits.
func scanInt(raw []byte, low int64) (n int64, ok bool) {
	digits := raw
	negative := len(raw) > 0 && raw[0] == '-'
	if negative {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > 10 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, low <= n && n <= math.MaxInt32
}

// BuiltIn reports whether a scalar of the given name needs no declaration.
func BuiltIn(scalar string) bool { _, ok := kinds[scalar]; return ok }

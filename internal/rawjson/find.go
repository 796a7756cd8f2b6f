// Package rawjson finds the members and items of JSON, and decodes values
// without losing digits.
//
// What finds (Find, Members, Elements, String) is for stored records: it looks
// where values begin and end and no more, and that they are valid is for the
// one who reads them. What decodes (Parse) is for anybody's bytes. The package
// knows neither records nor types.
package rawjson

import (
	"bytes"
	"errors"
)

// ErrNotObject says that the bytes are cut short or no JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Extent is where a member's value stands in its object; the zero value: there
// is none. (Offsets, and not slices: the collector need not look at them.)
type Extent struct{ low, high int32 }

// Of returns the value in its object; nothing for the zero value.
func (x Extent) Of(raw []byte) []byte { return raw[x.low:x.high:x.high] }

// Find looks up the members of a JSON object in one pass: found[i] becomes the
// extent of keys[i]. It stops as soon as all are found. Records write each key
// once and without escapes, which is what Find relies on; it reports false for
// bytes that are no object.
func Find(raw []byte, keys []string, found []Extent) bool {
	clear(found)
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return false
	}
	i = space(raw, i+1)
	missing, hint := len(keys), 0
	for missing > 0 && i < len(raw) && raw[i] == '"' {
		end := skipString(raw, i)
		if end < 0 {
			return false
		}
		name := raw[i+1 : end-1]
		i = space(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return false
		}
		start := space(raw, i+1)
		if i = skipValue(raw, start); i < 0 {
			return false
		}
		if slot := indexKey(keys, name, hint); slot >= 0 && found[slot].high == 0 {
			found[slot] = Extent{int32(start), int32(i)}
			hint = slot + 1
			missing--
		}
		i = space(raw, i)
		if i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return missing == 0 || i < len(raw) && raw[i] == '}'
}

// Members calls fn with each member of a JSON object: the key's text between
// its quotes, still escaped, and the value's text. The error is ErrNotObject.
func Members(raw []byte, fn func(key, value []byte)) error {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return ErrNotObject
	}
	if i = space(raw, i+1); i < len(raw) && raw[i] == '}' {
		return nil
	}
	for i < len(raw) && raw[i] == '"' {
		end := skipString(raw, i)
		if end < 0 {
			return ErrNotObject
		}
		key := raw[i+1 : end-1]
		if i = space(raw, end); i >= len(raw) || raw[i] != ':' {
			return ErrNotObject
		}
		start := space(raw, i+1)
		if i = skipValue(raw, start); i < 0 {
			return ErrNotObject
		}
		fn(key, raw[start:i:i])
		if i = space(raw, i); i >= len(raw) {
			return ErrNotObject
		}
		if raw[i] == '}' {
			return nil
		}
		if raw[i] != ',' {
			return ErrNotObject
		}
		i = space(raw, i+1)
	}
	return ErrNotObject
}

// String returns a member of an object that is a string; empty when there is
// none or when it is something else.
func String(raw []byte, name string) string {
	var found [1]Extent
	Find(raw, []string{name}, found[:])
	return Unquote(found[0].Of(raw))
}

// indexKey finds name among keys, beginning at hint: records and plans tend to
// have the same order.
func indexKey(keys []string, name []byte, hint int) int {
	for n := range keys {
		i := hint + n
		if i >= len(keys) {
			i -= len(keys)
		}
		if keys[i] == string(name) {
			return i
		}
	}
	return -1
}

// space returns the index of the first byte from i that is no white space.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i, -1 when it
// does not end.
func skipString(raw []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index after the value that begins at i, -1 when it
// does not end. It finds the extent of a value, it does not check it.
func skipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return -1
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		return skipNested(raw, i)
	}
	start := i
	for i < len(raw) {
		switch raw[i] {
		case ',', '}', ']', ':', '"', '{', '[', ' ', '\n', '\t', '\r':
			if i == start {
				return -1
			}
			return i
		}
		i++
	}
	return i
}

func skipNested(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			if i = skipString(raw, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// Elements walks over the items of a JSON array. It reports false for bytes
// that are no array; yield stops the walk by returning false.
func Elements(raw []byte, yield func(item []byte) bool) bool {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return false
	}
	for i = space(raw, i+1); i < len(raw) && raw[i] != ']'; {
		end := skipValue(raw, i)
		if end < 0 {
			return false
		}
		if !yield(raw[i:end:end]) {
			return true
		}
		i = space(raw, end)
		if i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return i < len(raw)
}

// IsNull reports whether a found value is absent or null.
func IsNull(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }

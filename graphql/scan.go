package graphql

import "bytes"

// extent is where a member's value stands in its object; the zero value: there
// is none. (Offsets, and not slices: the collector need not look at them.)
type extent struct{ low, high int32 }

func (x extent) of(raw []byte) []byte { return raw[x.low:x.high:x.high] }

// find looks up the members of a JSON object in one pass: found[i] becomes the
// extent of keys[i]. It stops as soon as all are found. Records write each key
// once and without escapes, which is what find relies on; it reports false for
// bytes that are no object.
func find(raw []byte, keys []string, found []extent) bool {
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
			found[slot] = extent{int32(start), int32(i)}
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

// elements walks over the items of a JSON array. It reports false for bytes
// that are no array; yield stops the walk by returning false.
func elements(raw []byte, yield func(item []byte) bool) bool {
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

// isNull reports whether a found value is absent or null.
func isNull(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }

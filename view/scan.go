package view

import "errors"

var errNotObject = errors.New("the record is not a JSON object")

// members calls fn with each member of a JSON object: the key's text between
// its quotes, still escaped, and the value's text. It finds the ends of values
// and no more; that they are valid JSON is for the one who reads them. What is
// cut short or is no object is an error.
func members(doc []byte, fn func(key, value []byte)) error {
	i := space(doc, 0)
	if i >= len(doc) || doc[i] != '{' {
		return errNotObject
	}
	i = space(doc, i+1)
	if i < len(doc) && doc[i] == '}' {
		return nil
	}
	for {
		end := stringEnd(doc, i)
		if end < 0 {
			return errNotObject
		}
		key := doc[i+1 : end-1]
		i = space(doc, end)
		if i >= len(doc) || doc[i] != ':' {
			return errNotObject
		}
		i = space(doc, i+1)
		if end = valueEnd(doc, i); end < 0 {
			return errNotObject
		}
		fn(key, doc[i:end])
		i = space(doc, end)
		switch {
		case i < len(doc) && doc[i] == ',':
			i = space(doc, i+1)
		case i < len(doc) && doc[i] == '}':
			return nil
		default:
			return errNotObject
		}
	}
}

func space(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that starts at i, -1 for none.
func stringEnd(doc []byte, i int) int {
	if i >= len(doc) || doc[i] != '"' {
		return -1
	}
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueEnd returns the index after the value that starts at i, -1 for none.
func valueEnd(doc []byte, i int) int {
	if i >= len(doc) {
		return -1
	}
	switch doc[i] {
	case '"':
		return stringEnd(doc, i)
	case '{', '[':
		return nestedEnd(doc, i)
	}
	start := i
	for i < len(doc) && doc[i] != ',' && doc[i] != '}' && doc[i] > ' ' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// nestedEnd returns the index after the object or list that starts at i.
func nestedEnd(doc []byte, i int) int {
	for depth := 0; i < len(doc); {
		switch doc[i] {
		case '"':
			if i = stringEnd(doc, i); i < 0 {
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

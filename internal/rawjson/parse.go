package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Parse decodes a JSON value with exact numbers: nil, bool, json.Number,
// string, []any or map[string]any. It reports false for what is not JSON.
// (encoding/json keeps numbers exact only in its Decoder, whose buffers cost
// more than the values of most requests.)
func Parse(raw []byte) (any, bool) {
	if !Valid(raw) {
		return nil, false
	}
	value, _ := parseValid(raw, space(raw, 0))
	return value, true
}

// parseValid decodes the value that begins at i, and returns where it ends.
func parseValid(raw []byte, i int) (value any, end int) {
	switch raw[i] {
	case '[':
		return parseList(raw, space(raw, i+1))
	case '{':
		return parseObject(raw, space(raw, i+1))
	}
	end = skipValue(raw, i)
	switch raw[i] {
	case 'n':
		return nil, end
	case 't', 'f':
		return raw[i] == 't', end
	case '"':
		return Unquote(raw[i:end]), end
	}
	return json.Number(raw[i:end]), end
}

func parseList(raw []byte, i int) (list []any, end int) {
	list = []any{}
	for raw[i] != ']' {
		var item any
		item, i = parseValid(raw, i)
		list = append(list, item)
		i = pastComma(raw, i)
	}
	return list, i + 1
}

func parseObject(raw []byte, i int) (object map[string]any, end int) {
	object = map[string]any{}
	for raw[i] != '}' {
		colon := skipString(raw, i)
		name := Unquote(raw[i:colon])
		var member any
		member, i = parseValid(raw, space(raw, space(raw, colon)+1))
		object[name] = member
		i = pastComma(raw, i)
	}
	return object, i + 1
}

// pastComma returns the index of what follows an item: the next one, or the
// closing bracket.
func pastComma(raw []byte, i int) int {
	if i = space(raw, i); raw[i] == ',' {
		i = space(raw, i+1)
	}
	return i
}

// Unquote decodes a JSON string; what is none becomes empty.
func Unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return string(body)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

package service

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tidings/fault"
	"tidings/schema"
)

// maxValue bounds the value of one argument in a subject, in bytes.
const maxValue = 128

// Render puts the values of arguments into a template. A value is never more
// than a part of one token: it is not empty, has at most 128 bytes, and no dot,
// wildcard, white space or character that cannot be printed. The fault is
// BAD_USER_INPUT and names the argument.
func Render(s schema.Subject, args map[string]any) (string, error) {
	var b strings.Builder
	for _, part := range s.Parts {
		if part.Argument == nil {
			b.WriteString(part.Literal)
			continue
		}
		value, ok := text(lookup(args, part.Argument))
		name := strings.Join(part.Argument, ".")
		switch {
		case !ok:
			return "", fault.Input(name, "%s must be given: it is part of a subject", name)
		case value == "" || len(value) > maxValue:
			return "", fault.Input(name, "%s must have 1 to %d bytes: it is part of a subject", name, maxValue)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, unfit):
			return "", fault.Input(name, "%s must have no dot, no *, no >, no white space and no control character: it is part of a subject", name)
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

func unfit(r rune) bool {
	return r == '.' || r == '*' || r == '>' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// lookup follows a path into input objects; nil where there is nothing.
func lookup(args map[string]any, path []string) any {
	var value any = args
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// text writes a coerced leaf value; false for null and for what is no leaf.
func text(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

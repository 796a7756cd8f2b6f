package boot

import (
	"reflect"
	"strings"
)

// allowance says which values of a setting are good, with blanks between the
// alternatives: a word or a number, or a range of numbers, 1..5 or 1m.., whose
// ends are good as well. Empty: each value is.
type allowance string

// has reports whether v is good.
func (a allowance) has(v reflect.Value) bool {
	if a == "" {
		return true
	}
	for alternative := range strings.FieldsSeq(string(a)) {
		if v.Kind() == reflect.String {
			if v.String() == alternative {
				return true
			}
			continue
		}
		least, most, is := strings.Cut(alternative, "..")
		if !is {
			most = least
		}
		if v.Int() >= bound(v, least) && (most == "" || v.Int() <= bound(v, most)) {
			return true
		}
	}
	return false
}

// bound is an end of a range for values such as v.
func bound(v reflect.Value, text string) int64 {
	if text == "0" {
		return 0
	}
	n, err := parseNumber(v, text)
	if err != nil {
		panic("a tag of boot.Config: " + err.Error()) // each start reads all of them
	}
	return n
}

// String says it in words: 0 or at least 1s.
func (a allowance) String() string {
	alternatives := strings.Fields(string(a))
	for i, alternative := range alternatives {
		least, most, is := strings.Cut(alternative, "..")
		switch {
		case is && most == "":
			alternatives[i] = "at least " + least
		case is:
			alternatives[i] = "from " + least + " to " + most
		}
	}
	if len(alternatives) < 2 {
		return strings.Join(alternatives, "")
	}
	last := len(alternatives) - 1
	return strings.Join(alternatives[:last], ", ") + " or " + alternatives[last]
}

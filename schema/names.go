package schema

import "strings"

// pluralOf is the regular English plural: y after a consonant becomes ies,
// and s, x, z, ch and sh take es. @resource(plural:) names the irregular ones.
func pluralOf(word string) string {
	switch stem, isY := strings.CutSuffix(word, "y"); {
	case isY && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiouAEIOU"):
		return stem + "ies"
	case hasSuffix(word, "s", "x", "z", "ch", "sh"):
		return word + "es"
	}
	return word + "s"
}

func hasSuffix(word string, endings ...string) bool {
	for _, ending := range endings {
		if strings.HasSuffix(word, ending) {
			return true
		}
	}
	return false
}

// lowerFirst turns a type's name into a field's: User into user, APIKey into
// apiKey, URL into url.
func lowerFirst(name string) string {
	upper := 0
	for upper < len(name) && 'A' <= name[upper] && name[upper] <= 'Z' {
		upper++
	}
	if upper > 1 && upper < len(name) && 'a' <= name[upper] && name[upper] <= 'z' {
		upper-- // the last capital begins the next word
	}
	return strings.ToLower(name[:upper]) + name[upper:]
}

// isName reports whether s is a GraphQL name that is not reserved.
func isName(s string) bool {
	if s == "" || strings.HasPrefix(s, "__") || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if c := s[i] | 0x20; s[i] != '_' && !('a' <= c && c <= 'z') && !('0' <= s[i] && s[i] <= '9') {
			return false
		}
	}
	return true
}

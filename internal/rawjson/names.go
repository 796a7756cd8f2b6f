package rawjson

import (
	"bytes"
	"slices"
	"strings"
)

// Misspelt returns the first member of an object that has one of the names but
// for upper and lower case, and that name; nothing when there is none.
// encoding/json takes such a member for the one that is meant, while whoever
// looked at the object on its way did not. raw is valid JSON; what is no object
// has no members.
func Misspelt(raw []byte, names []string) (member, meant string) {
	_ = Members(raw, func(key, _ []byte) {
		if meant != "" {
			return
		}
		name := string(key)
		if bytes.IndexByte(key, '\\') >= 0 {
			name = Unquote(slices.Concat([]byte(`"`), key, []byte(`"`)))
		}
		for _, known := range names {
			if name != known && strings.EqualFold(name, known) {
				member, meant = name, known
			}
		}
	})
	return member, meant
}

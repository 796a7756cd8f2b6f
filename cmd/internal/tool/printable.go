package tool

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is a text of others as a terminal can be shown it: what would steer the
// terminal, or change the order in which people read, and not be seen, is written
// out, so as strings of JSON stay what they are. Lines and tabs stay.
func Printable(text string) string {
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if steers(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// steers reports whether a character is an order to a terminal or to the order of
// writing, or no character.
func steers(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
}

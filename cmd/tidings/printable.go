package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable is a text of a service as a terminal can be shown it: what would steer
// the terminal, and not be seen, is written out, so as strings of JSON stay what
// they are. Lines and tabs stay.
func printable(text string) string {
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

// steers reports whether a character is an order to a terminal, or no character.
func steers(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r == utf8.RuneError
}

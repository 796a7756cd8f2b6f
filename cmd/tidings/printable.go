package main

import (
	"bytes"
	"encoding/json"

	"tidings/cmd/internal/tool"
)

// printable is a text of a service as a terminal can be shown it.
func printable(text string) string { return tool.Printable(text) }

// pretty is JSON as people read it, on a terminal. What is no JSON stays, and what
// would be nothing but blanks, but for what would steer the terminal.
func pretty(text []byte) []byte {
	var out bytes.Buffer
	if indented(text) <= mostIndented && json.Indent(&out, text, "", "  ") == nil {
		text = out.Bytes()
	}
	return []byte(printable(string(text)))
}

// mostIndented bounds what is made of an answer, in bytes: lists in lists, some
// thousands deep, would become a thousand times as long.
const mostIndented = 256 << 20

// indented is how long a text is when it is indented, at most.
func indented(text []byte) (size int) {
	depth, quoted := 0, false
	for i := 0; i < len(text) && size <= mostIndented; i++ {
		size++
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
			size++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			size += 1 + 2*depth
		case c == '}' || c == ']':
			depth--
			size += 1 + 2*depth
		case c == ',' || c == ':':
			size += 1 + 2*depth
		}
	}
	return size
}

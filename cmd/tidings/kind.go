package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// kindOf is what a document asks for: query, mutation or subscription. It is empty
// where a service has to say it: in a document with several operations, none of which
// has the name, or with what is no operation.
func kindOf(document, name string) string {
	var found []definition
	for d := range definitions(document) {
		if d.kind != "fragment" && (name == "" || d.name == name) {
			found = append(found, d)
		}
	}
	if len(found) != 1 || !slices.Contains([]string{"query", "mutation", "subscription"}, found[0].kind) {
		return ""
	}
	return found[0].kind
}

// hasOperation reports whether a document has one, whatever else is in it.
func hasOperation(document string) bool {
	for d := range definitions(document) {
		if d.kind == "query" || d.kind == "mutation" || d.kind == "subscription" {
			return true
		}
	}
	return false
}

// definition is one of a document: its first word and its name, empty without one.
type definition struct{ kind, name string }

// definitions finds what a document consists of by its words outside of all brackets.
// Whether the rest is well is for a service to say.
func definitions(text string) func(yield func(definition) bool) {
	return func(yield func(definition) bool) {
		var d definition
		depth := 0
		for text != "" {
			token, rest := next(text)
			text = rest
			switch {
			case strings.ContainsAny(token[:1], "([{"):
				if token == "{" && depth == 0 {
					if d.kind == "" {
						d.kind = "query"
					}
					if !yield(d) {
						return
					}
					d = definition{}
				}
				depth++
			case strings.ContainsAny(token[:1], ")]}"):
				depth--
			case depth > 0 || !word(rune(token[0])):
			case d.kind == "":
				d.kind = token
			case d.name == "":
				d.name = token
			}
		}
	}
}

// next takes a word, a text, a remark or a single sign off a document that is not empty.
func next(text string) (token, rest string) {
	var end int
	switch {
	case text[0] == '#':
		end = after(text, "#", "\n", "")
	case strings.HasPrefix(text, `"""`):
		end = after(text, `"""`, `"""`, `\"""`)
	case text[0] == '"':
		end = after(text, `"`, `"`, `\`)
	default:
		if end = strings.IndexFunc(text, func(r rune) bool { return !word(r) }); end < 0 {
			end = len(text)
		}
		if end == 0 {
			_, end = utf8.DecodeRuneInString(text)
		}
	}
	return text[:end], text[end:]
}

// after is where something is over that begins and ends with signs: the end of the text
// where it does not end. A single sign that escapes does so for the one behind it.
func after(text, begin, end, escape string) int {
	for i := len(begin); i < len(text); i++ {
		switch {
		case escape != "" && strings.HasPrefix(text[i:], escape):
			i += max(1, len(escape)-1)
		case strings.HasPrefix(text[i:], end):
			return i + len(end)
		}
	}
	return len(text)
}

func word(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// instead is the call of another command with the same arguments, and those of the
// flags that it has, to be copied. Tokens are left out.
func instead(c *cobra.Command, name string, args []string) string {
	other, _, err := c.Root().Find([]string{name})
	if err != nil {
		return c.Root().Name() + " " + name
	}
	words := []string{other.CommandPath()}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if other.Flags().Lookup(f.Name) == nil {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.Name == "token" {
				value = "…"
			}
			words = append(words, "--"+f.Name, quoted(value))
		}
	})
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it.
func quoted(text string) string {
	plain := func(r rune) bool { return word(r) || strings.ContainsRune("-./:@=,+%…", r) }
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

package soap

import (
	"slices"
	"strings"
)

// Root fields that the adopter wrote: those with a Go function, and those that a
// service answers over the bus.

// verbs are the words that a query's name may begin with to be a good name of an
// operation as it is.
var verbs = []string{"calculate", "check", "compare", "compute", "convert", "count", "describe", "estimate", "export", "fetch", "find", "get",
	"is", "has", "list", "load", "lookup", "ping", "preview", "query", "read", "resolve", "search", "show", "suggest", "test", "validate", "verify"}

// ownName derives the name of an operation: restart → Restart; of a query quote →
// GetQuote, quotes → ListQuotes where it answers a list, findQuotes → FindQuotes.
func ownName(f rootField) string {
	name := pascal(f.Name)
	switch {
	case f.mutation || slices.Contains(verbs, firstWord(f.Name)):
		return name
	case f.typ.Elem != nil || strings.HasSuffix(f.typ.NamedType, "Connection"):
		return "List" + name
	}
	return "Get" + name
}

// pascal writes a GraphQL name as those of operations are: server_time as ServerTime.
func pascal(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// firstWord is what stands before the first capital letter, digit or underscore.
func firstWord(name string) string {
	for i, c := range []byte(name) {
		if c < 'a' || c > 'z' {
			return name[:i]
		}
	}
	return name
}

// ownResult maps the type that such a field answers with.
func (b *builder) ownResult(f rootField) *part {
	p := &part{name: resultName, typ: b.value(f.typ, whole)}
	p.mayLack(!f.typ.NonNull)
	return p
}

package main

import "testing"

func TestWhatADocumentAsksForIsSeenByItsWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, name, want string }{
		{"{ a }", "", "query"},
		{"query { a }", "", "query"},
		{"query subscription { a }", "", "query"},
		{"subscription{a}", "", "subscription"},
		{"# query {\nsubscription S($a: [I!]! = [{b: \"}\\\"{\"}]) @live(if: {x: 1}) { a(t: \"\"\"}\\\"\"\"{ query\"\"\") { b } }", "", "subscription"},
		{"fragment F on T { a } mutation M { ...F }", "", "mutation"},
		{"query Q { a } subscription S { b }", "S", "subscription"},
		{"query Q { a } subscription S { b }", "Q", "query"},
		{"query Q { a } subscription S { b }", "", ""},
		{"query Q { a }", "Other", ""},
		{"fragment F on T { a }", "", ""},
		{"type T { a: Int }", "", ""},
		{"subscription", "", ""},
		{"", "", ""},
		{`{ a(b: "`, "", "query"},
		{"\uFEFFmutation é { a }", "", "mutation"},
	} {
		if got := kindOf(c.document, c.name); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.document, c.name, got, c.want)
		}
	}
}

func FuzzKindOf(f *testing.F) {
	f.Add("subscription S($a: I = \"}\") { a(b: \"\"\"{\"\"\") }", "S")
	f.Add("{ a }", "")
	f.Fuzz(func(_ *testing.T, document, name string) { _ = kindOf(document, name) })
}

func TestAWordIsQuotedForAShell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a/b.graphql": "a/b.graphql", "": "''", "it's {a}": `'it'\''s {a}'`, "$x": "'$x'", "localhost:8080": "localhost:8080"} {
		if got := quoted(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

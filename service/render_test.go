package service_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"tidings/fault"
	"tidings/schema"
	"tidings/service"
)

// subjectOf compiles a template over the arguments s (String), n (Int), b
// (Boolean) and in.s (String).
func subjectOf(t testing.TB, template string) schema.Subject {
	t.Helper()
	m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(
		"type Query { f(s: String!, n: Int!, b: Boolean!, in: In!): Int @busRequest(subject: \"" + template + "\") } input In { s: String! }")}})
	if err != nil {
		t.Fatal(err)
	}
	return m.Binding("Query", "f").Subject
}

func TestValuesAreParts(t *testing.T) {
	t.Parallel()
	s := subjectOf(t, "a.{{ args.s }}.{{args.n}}-{{ args.b }}.{{ args.in.s }}")
	got, err := service.Render(s, map[string]any{"s": "ä_1", "n": int64(-3), "b": true, "in": map[string]any{"s": "x"}})
	if err != nil || got != "a.ä_1.-3-true.x" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatIsNoPartOfATokenIsRefusedByTheNameOfItsArgument(t *testing.T) {
	t.Parallel()
	s := subjectOf(t, "a.{{ args.in.s }}")
	for _, value := range []any{
		nil, "", ".", "a.b", "*", ">", "a>", " ", "a b", "a\tb", "a\nb", "\x00", "\u00a0", "\u2028", "\u200b", "\x7f", "\xff", "\ufffd",
		"\r\nPUB x 0\r\n", strings.Repeat("x", 129), []any{"x"}, 1.5,
	} {
		got, err := service.Render(s, map[string]any{"in": map[string]any{"s": value}})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.BadUserInput || f.Field != "in.s" || got != "" {
			t.Errorf("%q gives %q and %v", value, got, err)
		}
	}
	if _, err := service.Render(s, nil); !fault.Is(err, fault.BadUserInput) {
		t.Errorf("without arguments: %v", err)
	}
}

// FuzzRender: whatever a caller sends, the subject has the tokens of the
// template and begins as the template does.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{"a", "", ".", "a.b", "*", ">", " ", "\x00", "é", "\u202e", "$JS", "a\r\nb", "\xff", strings.Repeat("y", 128)} {
		f.Add(seed, int64(1))
	}
	s := subjectOf(f, "a.{{ args.s }}.{{args.n}}-{{ args.s }}")
	f.Fuzz(func(t *testing.T, value string, n int64) {
		subject, err := service.Render(s, map[string]any{"s": value, "n": n})
		if err != nil {
			if !fault.Is(err, fault.BadUserInput) {
				t.Fatal(err)
			}
			return
		}
		tokens := strings.Split(subject, ".")
		if len(tokens) != 3 || tokens[0] != "a" || tokens[1] != value || value == "" || !utf8.ValidString(subject) || strings.ContainsAny(subject, "*> \t\r\n\x00") {
			t.Fatalf("%q gives %q", value, subject)
		}
	})
}

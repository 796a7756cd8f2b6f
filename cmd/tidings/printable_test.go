package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// FuzzIndented: no text becomes longer than was said before.
func FuzzIndented(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\"}"}],"c":{}}`, `[[[]]]`, `"`, `"\`, `]`, ` { "a" : 1 } `, `{"a":[]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		if json.Indent(&out, []byte(text), "", "  ") == nil && out.Len() > indented([]byte(text)) {
			t.Fatalf("%q has %d bytes, and not %d", out.String(), out.Len(), indented([]byte(text)))
		}
	})
}

// What a service answers is shown, and never taken for an order to the terminal.
func TestAServiceDoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\nb\tc ä 世": "a\nb\tc ä 世",
		"\x1b]0;x\a":  `\u001b]0;x\u0007`,
		"\u009b2J":    `\u009b2J`,
		"a\rb\x7f":    `a\u000db\u007f`,
		"a\x9bb":      `a\ufffdb`,
		"a\u202eb":    `a\u202eb`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := string(pretty([]byte("{\"a\":\"\u009b2J\"}"))); got != "{\n  \"a\": \"\\u009b2J\"\n}" {
		t.Errorf("got %q", got)
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 5000) // a gigabyte of blanks
	if got := string(pretty([]byte(deep))); got != deep {
		t.Errorf("%d bytes became %d", len(deep), len(got))
	}
	for name, answer := range map[string]string{
		"an error": `{"errors":[{"message":"\u001b[2J\u001b]52;c;eA==\u0007"}]}`,
		"no JSON":  "\x1b[2J\u009b",
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(answer))
		}))
		t.Cleanup(service.Close)
		for _, command := range []string{"query", "watch"} {
			c := exec.CommandContext(t.Context(), os.Args[0], command, map[string]string{"query": "{ n }", "watch": "subscription { n }"}[command], "--url", service.URL)
			c.Env = append(os.Environ(), asProgram+"=1")
			var said strings.Builder
			c.Stderr = &said
			err := c.Run()
			if err == nil || !strings.Contains(said.String(), `\u001b[2J`) || strings.ContainsAny(said.String(), "\x1b\a\u009b") {
				t.Errorf("%s of %s: %v %q", command, name, err, said.String())
			}
		}
	}
}

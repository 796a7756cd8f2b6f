package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// referencePage is docs/cli.md, whose end is made from the commands.
const referencePage = "../../docs/cli.md"

func TestTheReferenceIsWhatTheCommandsSay(t *testing.T) {
	t.Parallel()
	const begin = "\nWhat each command says with `--help`.\n"
	text, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), begin)
	if !found {
		t.Fatalf("%s has no line %q", referencePage, begin)
	}
	var b strings.Builder
	b.WriteString(head + begin)
	p := program{stdin: strings.NewReader("")}
	each(p.root(), func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		out, errs, status := calls(t, "", append(words, "--help")...)
		if status != 0 {
			t.Errorf("%s: %s", c.CommandPath(), errs)
		}
		b.WriteString("\n### " + c.CommandPath() + "\n\n<!-- test: held by TestTheReferenceIsWhatTheCommandsSay -->\n```text\n" + strings.TrimSpace(out) + "\n```\n")
	})
	if *update {
		if err := os.WriteFile(referencePage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != string(text) {
		t.Errorf("%s is not what the commands say; go test ./cmd/tidings -run Reference -update writes it", referencePage)
	}
}

package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"tidings/cmd/internal/tool"
)

func TestTheHelpNamesEveryCommand(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	if err := run(t.Context(), []string{"--help"}, nil, &help, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range tool.Names() {
		if !strings.Contains(help.String(), "\n  api "+name+" ") {
			t.Errorf("api %s is not in the help", name)
		}
	}
}

// Whoever asks a subcommand what it is for is told that, and nothing is done.
func TestEverySubcommandSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	if err := run(t.Context(), []string{"--help"}, nil, &all, io.Discard); err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, name := range tool.Names() {
		called[name] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^  api ([a-z]+(?: [a-z]+)?)`).FindAllStringSubmatch(all.String(), -1) {
		called[m[1]] = true
	}
	if len(called) < 20 {
		t.Fatalf("found %v", called)
	}
	for name := range called {
		for _, flag := range []string{"--help", "-h"} {
			var out strings.Builder
			if err := run(t.Context(), append(strings.Fields(name), flag), nil, &out, io.Discard); err != nil {
				t.Errorf("api %s %s: %v", name, flag, err)
			}
			if text := out.String(); !strings.Contains(text, "api "+name) || len(text) > 4000 {
				t.Errorf("api %s %s: %.200s", name, flag, text)
			}
		}
	}
}

func TestWhatIsNoSubcommandIsToldWhereTheyAre(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"nothing", "soap nothing", "soap secret --nothing", "schema", "schema nothing", "bus nothing", "log nothing", "version nothing"} {
		var out strings.Builder
		err := run(t.Context(), strings.Fields(args), nil, &out, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "api ") || out.Len() > 0 {
			t.Errorf("api %s: %v, %s", args, err, out.String())
		}
	}
}

// Scripts tell a call that is wrong in itself, and has done nothing, by status 2 from
// one that has failed or found something.
func TestWhatIsCalledWronglyEndsWithStatus2(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for _, args := range []string{
		"--nothing", "serve", "--drain-window soon", "--log-level loud",
		"token", "token --nothing", "token --sub a --roles KING", "token --sub a --ttl 0s", "token --sub a more",
		"version nothing", "drain --nothing", "drain nothing", "revoke", "revoke --nothing", "revoke --before soon", "revoke --jti a more",
		"erase", "erase --type User", "erase --nothing", "bus nothing", "bus setup --nothing",
		"soap nothing", "soap secret --nothing", "soap lock --nothing", "soap check --nothing",
		"schema", "schema nothing", "schema print --nothing", "schema check", "schema check a b --format xml",
		"log nothing", "log check --nothing", "log check --format xml", "export more", "export --nothing", "import", "import --nothing x",
	} {
		var out strings.Builder
		err := run(t.Context(), strings.Fields(args), []string{"TIDINGS_DATA=" + data}, &out, io.Discard)
		if status := tool.StatusOf(err); err == nil || status != 2 {
			t.Errorf("api %s: status %d, %v", args, status, err)
		}
	}
}

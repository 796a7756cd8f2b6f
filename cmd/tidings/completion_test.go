package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// completes asks bash, which nothing else has prepared, what follows a line.
func completes(t *testing.T, dir, line string) []string {
	t.Helper()
	script, _, status := calls(t, "", "completion", "bash")
	if status != 0 {
		t.Fatal(script)
	}
	words := strings.Split(line, " ")
	ask := script + `
COMP_LINE=$1 COMP_POINT=${#1}; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
__start_tidings
printf '%s\n' "${COMPREPLY[@]}"`
	cmd := exec.Command("bash", append([]string{"--norc", "-c", ask, "bash", line}, words...)...)
	cmd.Dir = dir
	bin := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "tidings")); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.Output() // what bash says of being called by a test is left out
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list []string
	for l := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSpace(l), " ")
		list = append(list, word)
	}
	return list
}

func TestBashCompletesCommandsFlagsSettingsAndFiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	for _, name := range []string{"new.graphql", "new.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string][]string{
		"tidings wa":                 {"watch"},
		"tidings schema ":            {"check", "print"},
		"tidings watch --transport ": {"auto", "sse", "wss"},
		"tidings watch --tra":        {"--transport"},
		"tidings dev --nats-in":      {"--nats-inbox"},
		"tidings export --nats-li":   {"--nats-listen"},
		"tidings completion ":        {"bash", "fish", "zsh"},
		"tidings query ne":           {"new.graphql"},
		"tidings persist --format ":  {"apollo", "relay"},
		"tidings soap ce":            {"certificate"},
	} {
		got := completes(t, dir, line)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestEveryShellHasItsScript(t *testing.T) {
	t.Parallel()
	for _, s := range shells {
		if out, errs, status := calls(t, "", "completion", s.name); status != 0 || !strings.Contains(out, "__complete") {
			t.Errorf("%s: status %d, %s", s.name, status, errs)
		}
	}
	if _, errs, status := calls(t, "", "completion", "tcsh"); status != statusUsage || !strings.Contains(errs, "bash, zsh, fish") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// Each command has a man page, and roff finds nothing wrong in it.
func TestManPagesAreThereAndAreRoff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, errs, status := calls(t, "", "man", dir); status != 0 {
		t.Fatal(errs)
	}
	p := program{stdin: strings.NewReader("")}
	groff, err := exec.LookPath("groff")
	each(p.root(), func(c *cobra.Command) {
		file := filepath.Join(dir, pageName(c)+".1")
		text, readErr := os.ReadFile(file)
		if readErr != nil || !strings.HasPrefix(string(text), ".TH ") || !strings.Contains(string(text), ".SH SEE ALSO") {
			t.Errorf("%s: %v\n%s", file, readErr, text)
		}
		if err != nil {
			return
		}
		if out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff: %v\n%s", err, out)
		}
	})
	one, _, status := calls(t, "", "man", "schema", "print")
	if status != 0 || !strings.Contains(one, `tidings\-schema\-print`) {
		t.Errorf("status %d, %s", status, one)
	}
	if _, errs, status := calls(t, "", "man", "nobody"); status != statusUsage || !strings.Contains(errs, "neither a command nor a directory") {
		t.Errorf("status %d, %s", status, errs)
	}
}

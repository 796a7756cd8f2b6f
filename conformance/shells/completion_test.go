//go:build conformance

// Package shells asks real shells what they complete.
package shells

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tidings builds the command line, and returns a PATH with it.
func tidings(t *testing.T) (path string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir+"/", "tidings/cmd/tidings").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir + ":" + os.Getenv("PATH")
}

// says runs a script of a shell.
func says(t *testing.T, path, shell string, args ...string) string {
	t.Helper()
	cmd := exec.Command(shell, args...)
	cmd.Env = append(os.Environ(), "PATH="+path, "HOME="+t.TempDir(), "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return string(out)
}

func TestFishCompletes(t *testing.T) {
	t.Parallel()
	path := tidings(t)
	for line, want := range map[string]string{"tidings wat": "watch", "tidings schema ": "print", "tidings watch --transport ": "sse", "tidings dev --nats-in": "--nats-inbox"} {
		out := says(t, path, "fish", "--no-config", "-c", "tidings completion fish | source; complete -C '"+line+"'")
		if !strings.Contains(out, want) {
			t.Errorf("%q: %q", line, out)
		}
	}
}

// zsh completes in a terminal alone: it gets one of its own, in which the line is
// typed with a tabulator.
func TestZshCompletes(t *testing.T) {
	t.Parallel()
	path := tidings(t)
	script := filepath.Join(t.TempDir(), "ask.zsh")
	const ask = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; autoload -U compinit; compinit -u -d $HOME/dump; source <(tidings completion zsh); bindkey '^I' complete-word; echo rea''dy"
zpty -r -m z line '*ready*'
zpty -n -w z "tidings comple"$'\t'
repeat 100; do
  sleep 0.1
  zpty -r -t z part && all+=$part
  [[ $all == *completion* ]] && print found && exit 0
done
print -r -- "$all"
`
	if err := os.WriteFile(script, []byte(ask), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := says(t, path, "zsh", "-f", script); !strings.Contains(out, "found") {
		t.Errorf("%q", out)
	}
}

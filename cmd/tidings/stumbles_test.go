package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What newcomers get wrong is answered with what to do.
func TestWhatIsGotWrongIsAnsweredWithWhatToDo(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	file := filepath.Join(dir, "schema.graphql")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"init", file}, "is a file: name a directory"},
		{[]string{"init", "/proc/nowhere"}, "choose a directory that you may write to"},
		{[]string{"init"}, "name DIR, the directory of the new schema: tidings init DIR; see"},
		{[]string{"dev", file}, "is a file: name the directory of the schema"},
		{[]string{"dev", dir, "--admin", "", "--listen", taken.Addr().String()}, "tidings dev " + dir + " --listen 127.0.0.1:"},
		{[]string{"query", dir}, "name a file that can be read"},
		{[]string{"query", "notes"}, "stands in quotes"},
		{[]string{"persist", dir}, "has no operation: it is a schema"},
		{[]string{"persist", filepath.Join(dir, "nowhere")}, "there is no file or directory"},
		{[]string{"token", "--sbu", "alice"}, "did you mean --sub? See"},
		{[]string{"token", "--sub"}, "--sub wants a value; see tidings token --help"},
		{[]string{"token", "--sub", "a", "--ttl", "5"}, `--ttl: "5" is no duration; write it as 90s, 30m or 24h`},
		{[]string{"schema", "print", dir}, "a directory of *.graphql files is named by --schema " + dir},
		{[]string{"revoke", "--jit", "x"}, "did you mean --jti? See"},
		{[]string{"drain", "now"}, `unknown argument "now"; see tidings drain --help`},
		{[]string{"import", "x", "--dryrun"}, "did you mean --dry-run?"},
		{[]string{"import", "x", "--nothing"}, "unknown flag --nothing; see tidings import --help"},
		{[]string{"schema", "check", dir, "no/where"}, "there is no directory or file no/where; name"},
		{[]string{"man", "nothing"}, "see tidings --help"},
	} {
		if out, errs, status := calls(t, "", c.args...); status != statusUsage || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("tidings %s: status %d, %s%s", strings.Join(c.args, " "), status, errs, out)
		}
	}
}

// A remedy is a command that the reader can copy: none names another program.
func TestErrorsNameThisProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "accounts.json"), []byte(`[{"name":"a","roles":["SERVICE"],"secrets":["mine"]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, _ := calls(t, "", "soap", "accounts", filepath.Join(dir, "accounts.json"))
	if said := renamed(errs); !strings.Contains(said, "`tidings soap secret`") || strings.Contains(said, "`api ") {
		t.Error(said)
	}
}

func TestWhatAUserMayNotIsAnsweredWithWhatToDo(t *testing.T) {
	t.Parallel()
	denied := &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}
	if said := permitted(fmt.Errorf("the token: %w", denied)).Error(); !strings.Contains(said, "may not do that: run it as") {
		t.Error(said)
	}
	if said := permitted(fmt.Errorf("%w; choose another", denied)).Error(); strings.Contains(said, "may not do that") {
		t.Error(said)
	}
}

// Hidden directories and packages of others hold no operations of an application.
func TestPersistPassesOverWhatIsNotTheApplications(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"app/a.graphql", ".git/b.graphql", "node_modules/x/c.graphql"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("{ a }"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, status := calls(t, "", "persist", dir, "--format", "relay")
	if status != 0 || strings.Count(out, "{ a }") != 1 {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	list, err := documentsOf([]string{dir})
	if err != nil || len(list) != 1 || list[0].file != filepath.Join(dir, "app/a.graphql") {
		t.Error(err, list)
	}
}

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/cmd/internal/tool"
)

const lockedSDL = "type Note @resource { id: ID! text: String! kind: Kind! @default(value: A) }\nenum Kind { A }\n"

// soapSays runs `api soap` and returns what it printed, with the error.
func soapSays(t *testing.T, status int, args ...string) string {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), append([]string{"soap"}, args...), nil, &out, io.Discard)
	got := 0
	if err != nil {
		got = tool.StatusOf(err)
		out.WriteString(err.Error())
	}
	if got != status {
		t.Errorf("%v: status %d, want %d: %v", args, got, status, err)
	}
	return out.String()
}

func TestALockIsMadeComparedAndNotWrittenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "s.graphql"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	has := func(what, out string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(out, word) {
				t.Errorf("%s: %q is not in\n%s", what, word, out)
			}
		}
	}
	v1 := filepath.Join(dir, "v1.soap.lock")
	write(lockedSDL)
	has("without one", soapSays(t, 0, "check", "--schema", dir), "nothing is locked")
	has("the first", soapSays(t, 0, "lock", "--schema", dir, "--service", "NoteService"), v1, "as v1 of NoteService")
	has("again", soapSays(t, 0, "lock", "--schema", dir), "nothing has changed")
	has("a name that is not the lock's", soapSays(t, 1, "lock", "--schema", dir, "--version", "one"), "v1, v2 and so on")

	write(strings.Replace(lockedSDL, "text: String!", "first: Int text: String! more: String", 1) + "type Other @resource { id: ID! x: Int }")
	first, err := os.ReadFile(v1)
	if err != nil {
		t.Fatal(err)
	}
	has("what grew", soapSays(t, 0, "check", "--schema", dir), "v1.soap.lock: held", "v1 does not show")
	has("what grew, locked", soapSays(t, 1, "lock", "--schema", dir), "is not written over", "--force",
		"fails in zeep, suds, Axis 1 and CXF; zeep without strict loses the rest silently\n  Note has the element first, before others",
		"harms nobody", "the operation GetOther is new", "CreateNoteInput takes the element more")
	if now, err := os.ReadFile(v1); err != nil || string(now) != string(first) {
		t.Errorf("the lock was written over: %v", err)
	}
	has("the next version", soapSays(t, 0, "lock", "--version=v2", "--schema", dir), "v2.soap.lock", "as v2 of NoteService")
	has("both", soapSays(t, 0, "check", "--schema", dir), "v1.soap.lock: held", "v2.soap.lock: held")

	write(strings.Replace(lockedSDL, "text: String!", "text: String! @deprecated(reason: \"no\")", 1) + "type Query { third: Int @busRequest(subject: \"a.third\") }")
	has("what harms nobody", soapSays(t, 0, "lock", "--schema", dir, "--version", "v1"), "harms nobody\n", "the operation GetThird is new", "v1.soap.lock: written anew")
	has("another service", soapSays(t, 1, "lock", "--schema", dir, "--version", "v1", "--service", "Else"), "it is Else in the namespace", "is not written over")
	write(lockedSDL + "extend enum Kind { B } type Query { third: Int @busRequest(subject: \"a.third\") }")
	has("broken", soapSays(t, 1, "check", "--schema", dir), "v1.soap.lock:", "result.kind may be B now", "promises that are not held")
	has("broken, by the other check", command(t, 1, "check", dir, dir), "BREAKING for partners of SOAP", "result.kind may be B now")
	has("as JSON", command(t, 1, "check", "--format=json", dir, dir), `"soap": [`, `"file": "v1.soap.lock"`, `"remedy": "make the next version`)
	if err := run(t.Context(), []string{"--schema", dir, "--dev", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin", ""}, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "result.kind may be B now") {
		t.Errorf("it starts: %v", err)
	}
	write(lockedSDL + "type Query { third: Int @busRequest(subject: \"a.third\") }")
	has("written over", soapSays(t, 0, "lock", "--force", "--version", "v2", "--schema", dir), "v2.soap.lock: written anew", "the operation GetOther is gone")
	has("help", soapSays(t, 0, "lock", "--help"), "--force", "Status:")
	if err := os.WriteFile(v1, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	has("no lock", soapSays(t, 2, "check", "--schema", dir), "v1.soap.lock: the format is")
}

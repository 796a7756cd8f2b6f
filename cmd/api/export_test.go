package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/cmd/internal/tool"
)

// ran runs a subcommand, and returns what it writes with its status.
func ran(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	err := run(t.Context(), args, nil, &out, &errs)
	if err != nil {
		status = tool.StatusOf(err)
		errs.WriteString(err.Error())
	}
	return out.String(), errs.String(), status
}

func TestRecordsAreExportedAndImported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	settings := func(data string) []string { return []string{"--schema", "../../examples/social", "--data", in(data)} }
	user := `{"type":"User","record":{"id":"ann","name":"Ann","email":"ann@example.com","createdAt":"2024-05-01T10:00:00Z"}}` + "\n"
	if err := os.WriteFile(in("foreign.ndjson"), []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("wrong.ndjson"), []byte(user+strings.Replace(user, "Ann", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("other.ndjson"), []byte(strings.Replace(user, "Ann", "Other", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("there.ndjson"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("left.ndjson.part"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		data   string
		args   []string
		status int
		says   string // on either output
	}{
		{"a", []string{"import", in("foreign.ndjson"), "--dry-run"}, 2, "there is no log"},
		{"a", []string{"import", in("wrong.ndjson")}, 1, "line 2: User name"},
		{"a", []string{"import", in("foreign.ndjson")}, 0, "imported: 1 created"},
		{"a", []string{"import", in("foreign.ndjson")}, 0, "imported: 1 there already"},
		{"a", []string{"import", in("other.ndjson")}, 1, "--on-conflict=replace"},
		{"a", []string{"import", "--on-conflict", "skip", in("other.ndjson")}, 0, "imported: 1 skipped"},
		{"a", []string{"import", "--on-conflict=some", in("other.ndjson")}, 2, "fail, skip or replace"},
		{"a", []string{"import"}, 2, "one file"},
		{"a", []string{"import", in("none.ndjson")}, 2, "no such file"},
		{"a", []string{"import", "--help"}, 0, "Status:"},
		{"a", []string{"export", "--help"}, 0, "Status:"},
		{"a", []string{"export", "--out", in("all.ndjson.gz")}, 0, "exported 1 records"},
		{"a", []string{"export", "--out", in("all.ndjson.gz")}, 2, "is there already"},
		{"a", []string{"export", "--out", in("left.ndjson")}, 2, "--resume"},
		{"a", []string{"export", "--out", in("left.ndjson"), "--resume"}, 1, "begin a new export"},
		{"a", []string{"export", "--out", in("new.ndjson"), "--resume"}, 2, "nothing to resume"},
		{"a", []string{"export", "--resume"}, 2, "--out FILE"},
		{"a", []string{"export", "--type", "Ghost"}, 2, "no such resource"},
		{"a", []string{"export", "--after", "x"}, 2, "is no position"},
		{"a", []string{"export", "--type", "Post"}, 0, "there are none of the type Post"},
		{"none", []string{"export"}, 2, "there is no log"},
		{"b", []string{"import", in("all.ndjson.gz")}, 0, "imported: 1 created"},
		{"b", []string{"export"}, 0, `"record":{"id":"ann","name":"Ann","email":"ann@example.com","createdAt":"2024-05-01T10:00:00Z"}}`},
	} {
		out, errs, status := ran(t, append(step.args, settings(step.data)...)...)
		if status != step.status || !strings.Contains(out+errs, step.says) {
			t.Errorf("%s %s: status %d\n%s%s", step.data, step.args, status, out, errs)
		}
	}
	if left, err := filepath.Glob(in("*.part*")); err != nil || len(left) > 1 { // that of the test
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAnExportThatWasKilledIsResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	settings := []string{"--schema", "../../examples/social", "--data", in("data")}
	var lines strings.Builder
	for i := range 50 {
		lines.WriteString(`{"type":"User","record":{"id":"u` + string(rune('a'+i%26)) + string(rune('a'+i/26)) + `","name":"Ann","email":"ann` + string(rune('a'+i%26)) + string(rune('a'+i/26)) + `@example.com","createdAt":"2024-05-01T10:00:00Z"}}` + "\n")
	}
	if err := os.WriteFile(in("in"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := ran(t, append([]string{"import", in("in")}, settings...)...); status != 0 {
		t.Fatal(errs)
	}
	if _, errs, status := ran(t, append([]string{"export", "--out", in("whole")}, settings...)...); status != 0 {
		t.Fatal(errs)
	}
	whole, err := os.ReadFile(in("whole"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "packed.gz", "finished"} {
		cut := whole[:len(whole)/2]
		if name == "finished" {
			cut = whole
		}
		if err := os.WriteFile(in(name+".part"), cut, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, status := ran(t, append([]string{"export", "--resume", "--out", in(name)}, settings...)...); status != 0 || !strings.Contains(errs, "exported 50 records") {
			t.Errorf("%s: %s", name, errs)
		}
		if out, errs, status := ran(t, append([]string{"import", "--dry-run", in(name)}, settings...)...); status != 0 || !strings.Contains(out, "50 there already") {
			t.Errorf("%s: %s%s", name, out, errs)
		}
	}
	if left, err := filepath.Glob(in("*.part*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an administrator does with the log is within the permissions of the role.
func TestAnAdministratorMayExportImportCheckAndRenew(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "in")
	if err := os.WriteFile(file, []byte(`{"type":"User","record":{"id":"ann","name":"Ann","email":"ann@example.com","createdAt":"2024-05-01T10:00:00Z"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		says string
		args []string
	}{
		{"imported: 1 created", []string{"import", file}},
		{"imported: 1 there already", []string{"import", file}},
		{"exported 1 records", []string{"export", "--out", filepath.Join(dir, "out.gz")}},
		{"nothing is wrong", []string{"log", "check"}},
		{"mended: 0", []string{"log", "repair"}},
		{"all stored records fit", []string{"schema", "check", "--against-log"}},
		{"the log is ", []string{"log", "renew"}},
		{"exported 1 records", []string{"export", "--type", "User"}},
	} {
		var out bytes.Buffer
		err := run(t.Context(), append(step.args, "--schema", social), g.environ("admin"), &out, &out)
		if err != nil || !strings.Contains(out.String(), step.says) {
			t.Errorf("%s: %v\n%s", step.args, err, out.String())
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, denied := range g.denied {
		t.Error(denied)
	}
}

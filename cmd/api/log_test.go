package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/resource"
)

func TestTheLogIsCheckedRepairedAndRenewed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	settings := []string{"--schema", "../../examples/social", "--data", data}
	file := filepath.Join(data, "in")
	if err := os.WriteFile(file, []byte(`{"type":"User","record":{"id":"ann","name":"Ann","email":"ann@example.com","createdAt":"2024-05-01T10:00:00Z"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	step := func(status int, says string, args ...string) string {
		t.Helper()
		out, errs, got := ran(t, append(args, settings...)...)
		if got != status || !strings.Contains(out+errs, says) {
			t.Errorf("%s: status %d\n%s%s", args, got, out, errs)
		}
		return out
	}
	step(2, "there is no log", "log", "check")
	step(0, "imported: 1 created", "import", file)
	step(0, "nothing is wrong", "log", "check")
	step(0, "Status:", "log", "--help")
	step(2, "there is no api log mend", "log", "mend")
	step(2, "text or json", "log", "check", "--format", "xml")

	b := bustest.Dir(t, filepath.Join(data, "log"))
	last, err := b.Last(t.Context(), b.Subjects().Record("User", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Append(t.Context(), bus.Entry{Subject: last.Subject, Data: []byte("garbage"), After: last.Seq})
	if err != nil {
		t.Fatal(err)
	}
	hash := strings.Repeat("A", 43)
	if _, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Unique("User", "email", hash), Data: []byte(`{"id":"nobody"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	step(1, "remedy: api log repair releases", "log", "check")
	step(1, "the log has 2 flaws", "log", "check")
	var found resource.LogCheck
	if err := json.Unmarshal([]byte(step(1, "", "log", "check", "--format=json")), &found); err != nil || found.MalformedCount != 1 || found.OrphanCount != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	step(1, "mended: 1", "log", "repair")
	step(3, "1 messages that are no records", "export")
	step(1, "the log has 1 flaws", "log", "check")
	step(0, "the log is ", "log", "renew")
}

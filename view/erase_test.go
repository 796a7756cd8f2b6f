package view_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tidings/view"
)

// inFiles reports whether any file of a directory has a text.
func inFiles(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheFileDoesNotTellWhatADeletedRecordWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := social(t)
	v, err := view.Open(t.Context(), m, "log1", view.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	apply := func(id, raw string) {
		t.Helper()
		seq++
		c := view.Change{Seq: seq, Type: "User", ID: id, Look: true}
		if raw != "" {
			c.Raw = []byte(raw)
		}
		if err := v.Apply(t.Context(), seq, []view.Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	user := func(id, name string) string {
		return fmt.Sprintf(`{"id":%q,"name":%q,"email":"%s@example.com","createdAt":"2026-01-01T00:00:00Z"}`, id, name, name)
	}
	reopen := func() {
		t.Helper()
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if v, err = view.Open(t.Context(), m, "log1", view.Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		apply(fmt.Sprint("u", i), user(fmt.Sprint("u", i), fmt.Sprint("Marker", i)))
	}
	reopen()
	if !inFiles(t, dir, "Marker77") {
		t.Fatal("the test does not see what is there")
	}
	for i := 50; i < 150; i++ {
		apply(fmt.Sprint("u", i), "")
	}
	reopen()
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for i := 50; i < 150; i++ {
		if inFiles(t, dir, fmt.Sprint("Marker", i, "@")) || inFiles(t, dir, fmt.Sprint(`"Marker`, i, `"`)) {
			t.Fatalf("a file still has Marker%d", i)
		}
	}
}

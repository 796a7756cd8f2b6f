package schema_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"tidings/schema"
)

// Each archive is a schema directory with something wrong in it; its file
// "want" holds the report. The lines above the first file say what it is about.
func TestWrongSchemasAreReportedWithPlaceAndRemedy(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil || len(paths) < 25 {
		t.Fatalf("found %d archives (%v)", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			checkFaults(t, path)
		})
	}
}

func checkFaults(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	want := ""
	rest := archive.Files[:0]
	for _, file := range archive.Files {
		if file.Name == "want" {
			want = string(file.Data)
			continue
		}
		rest = append(rest, file)
		dir[file.Name] = &fstest.MapFile{Data: file.Data}
	}
	_, err = schema.Load(dir)
	if err == nil {
		t.Fatal("the schema was accepted")
	}
	got := err.Error() + "\n"
	if *update {
		archive.Files = append(rest, txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

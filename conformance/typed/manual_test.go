package typed

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/conformance/docs"
)

// What docs/clients.md shows is what the tests here compile and run.
func TestTheManualShowsWhatIsRun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docs.Read("clients.md", string(page))
	if err != nil {
		t.Fatal(err)
	}
	source := sources(t)
	shown := 0
	for _, b := range blocks {
		if b.Rule != "held" {
			continue
		}
		shown++
		if !strings.Contains(source, strings.TrimSpace(b.Text)) {
			t.Errorf("%s is in no file that is run", b)
		}
	}
	if shown == 0 {
		t.Error("it shows nothing")
	}
}

// sources are the files that are compiled, but for what is generated.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "generated") {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".ts", ".go", ".graphql", ".yaml":
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

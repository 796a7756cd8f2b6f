//go:build conformance

package queryui

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"testing"
)

// What is embedded was built, byte for byte, from the sources beside it.
func TestTheCommittedBuildIsWhatTheSourcesGive(t *testing.T) {
	const sources = "../../web/graphiql"
	if _, err := os.Stat(sources + "/node_modules"); err != nil {
		t.Fatal("the packages are missing: run make clients")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "node", "build.mjs", dir)
	cmd.Dir = sources
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, got := files(t, sources+"/dist"), files(t, dir)
	for name := range got {
		if _, has := want[name]; !has {
			t.Errorf("%s is not in the tree: run make ui and commit what it makes", name)
		}
	}
	for name, content := range want {
		if !bytes.Equal(content, got[name]) {
			t.Errorf("%s differs from what the sources give: run make ui and commit what it makes", name)
		}
	}
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all, from := map[string][]byte{}, os.DirFS(dir)
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = fs.ReadFile(from, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidings/schema"
)

// Some editors mark a file that is being changed by a link to nowhere, with the
// file's name after ".#"; others keep a copy beside it.
func TestWhatEditorsPutBesideAFileIsNoSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.graphql":  `type Note @resource { id: ID! text: String! }`,
		".s.graphql": `type Note @resource {`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("ada@host.1", filepath.Join(dir, ".#s.graphql")); err != nil {
		t.Fatal(err)
	}
	if m, err := schema.Load(os.DirFS(dir)); err != nil || m.Resource("Note") == nil {
		t.Error(err)
	}
}

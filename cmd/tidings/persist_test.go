package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/client"
)

// operationsIn writes documents into files of a new directory.
func operationsIn(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What persist writes is what a service reads, in both forms, and clients name the
// documents by the ids in it.
func TestAManifestIsReadByTheService(t *testing.T) {
	t.Parallel()
	const document = "query Notes { notes { totalCount } }"
	src := operationsIn(t, map[string]string{"Notes.graphql": document + "\n", "again.gql": document, "README.md": "no operation"})
	for _, format := range []string{"apollo", "relay"} {
		dir, into := notes(t), t.TempDir()
		manifest := filepath.Join(into, "new", "manifest.json")
		out, errs, status := calls(t, "", "persist", src, "--format", format, "--schema", dir, "--out", manifest)
		if status != 0 || out != "" || !strings.Contains(errs, "1 operations") {
			t.Fatalf("status %d, %s%s", status, out, errs)
		}
		if text, err := os.ReadFile(manifest); err != nil || !json.Valid(text) || !strings.Contains(string(text), client.Hash(document)) {
			t.Errorf("%v %s", err, text)
		}
		address := freeAddress(t)
		p := launch(t, "dev", dir, "--listen", address, "--admin", "", "--operations", filepath.Dir(manifest), "--persisted-only")
		p.says(t, "ADMIN_TOKEN=")
		if out, errs, status := calls(t, "", "query", "--id", client.Hash(document), "--url", address); status != 0 || !strings.Contains(out, `"totalCount":0`) {
			t.Errorf("by its id: status %d, %s%s", status, out, errs)
		}
		if out, _, status := calls(t, "", "query", "{ notes { nodes { id } } }", "--url", address); status != statusAnswer || !strings.Contains(out, "FORBIDDEN") {
			t.Errorf("another: status %d, %s", status, out)
		}
		other := operationsIn(t, map[string]string{"other.graphql": "{ lists { totalCount } }"})
		if _, errs, status := calls(t, "", "persist", other, "--register", "--url", address); status != statusAnswer {
			t.Errorf("registered where nothing is taken: status %d, %s", status, errs)
		}
	}
}

func TestPersistRegistersWithoutRunning(t *testing.T) {
	t.Parallel()
	url, token := serves(t, notes(t))
	const create = `mutation { createNote(input: {text: "must not be"}) { id } }`
	src := operationsIn(t, map[string]string{"create.graphql": create})
	out, errs, status := calls(t, "", "persist", src, "--register", "--url", url, "--token", token)
	if status != 0 || !strings.HasPrefix(out, client.Hash(create)+"  ") {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	if out, _, _ := calls(t, "", "query", "{ notes { totalCount } }", "--url", url); !strings.Contains(out, `"totalCount":0`) {
		t.Errorf("it was run: %s", out)
	}
	if out, errs, status := calls(t, "", "query", "--id", "sha256:"+client.Hash(create), "--url", url, "--token", token); status != 0 {
		t.Errorf("by its id: status %d, %s%s", status, out, errs)
	}
	if out, errs, status := calls(t, "", "persist", operationsIn(t, map[string]string{"a.graphql": "{ nobody }"}), "--register", "--url", url); status != statusAnswer || out != "" || !strings.Contains(errs, "nobody") {
		t.Errorf("one that is not valid: status %d, %s%s", status, out, errs)
	}
}

func TestPersistSaysWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	for says, c := range map[string]struct {
		args   []string
		status int
	}{
		"nobody":                 {[]string{operationsIn(t, map[string]string{"a.graphql": "{ nobody }"}), "--schema", dir}, statusAnswer},
		"the document is empty":  {[]string{operationsIn(t, map[string]string{"a.graphql": " "})}, statusUsage},
		"there are no *.graphql": {[]string{t.TempDir()}, statusUsage},
		"no file or directory":   {[]string{"no/where"}, statusUsage},
		"name the directory":     {nil, statusUsage},
		"apollo or relay":        {[]string{dir, "--format", "x"}, statusUsage},
	} {
		if out, errs, status := calls(t, "", append([]string{"persist"}, c.args...)...); status != c.status || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: status %d, %s%s", says, status, out, errs)
		}
	}
}

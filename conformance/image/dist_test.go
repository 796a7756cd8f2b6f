//go:build conformance

package image

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Two releases of one tree, made in different directories, are the same bytes:
// whoever has the tree can check what was published.
func TestTwoReleasesAreEqualAndRun(t *testing.T) {
	one, other := release(t, "../.."), release(t, copyTree(t))
	if a, b := read(t, one, "SHA256SUMS"), read(t, other, "SHA256SUMS"); a != b {
		t.Errorf("the sums are\n%s\nand\n%s", a, b)
	}
	if lines := strings.Count(read(t, one, "SHA256SUMS"), "\n"); lines != 8 {
		t.Errorf("%d files were released, want an archive and a bill of materials for each of 4 platforms", lines)
	}
	mustRun(t, one, "sha256sum", "--strict", "-c", "SHA256SUMS")

	mine, err := filepath.Glob(filepath.Join(one, fmt.Sprintf("tidings-*-%s-%s.tar.gz", runtime.GOOS, runtime.GOARCH)))
	if err != nil || len(mine) != 1 {
		t.Fatalf("archives for this machine: %q, %v", mine, err)
	}
	at := t.TempDir()
	mustRun(t, at, "tar", "xzf", mine[0], "--strip-components=1")
	for _, paper := range []string{"LICENSE", "README.md", "THIRD_PARTY_LICENSES.md"} {
		if read(t, at, paper) == "" {
			t.Errorf("%s is empty", paper)
		}
	}
	revision := strings.TrimSpace(mustRun(t, "../..", "git", "rev-parse", "HEAD"))
	for _, program := range []string{"api", "worker", "tidings"} {
		if says := mustRun(t, at, "./"+program, "--version"); !strings.Contains(says, "revision "+revision) {
			t.Errorf("%s says %q, and the revision is %s", program, says, revision)
		}
	}
}

// release makes a release of the tree.
func release(t *testing.T, tree string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "dist")
	mustRun(t, tree, "go", "run", "./deploy/release", "dist", dir)
	return dir
}

func mustRun(t *testing.T, dir, program string, args ...string) (out string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, text)
	}
	return string(text)
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

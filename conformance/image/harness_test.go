//go:build conformance

package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const name = "localhost/tidings:test"

// work is where everything lies while the tests run: the storage of images too, so
// that nothing of the machine's is touched.
var work string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidings-image-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	work = dir
	return m.Run()
}

// storage are the options of buildah and podman for a storage of the tests' own.
func storage() []string {
	return []string{"--storage-driver", "vfs", "--root", filepath.Join(work, "storage"), "--runroot", filepath.Join(work, "run")}
}

// image builds the image once, and returns the archive in which it is too.
func image(t testing.TB) (archive string) {
	t.Helper()
	archive, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

var built = sync.OnceValues(func() (string, error) {
	archive := filepath.Join(work, "image.tar")
	return archive, buildImage("../..", name, archive)
})

// buildImage builds the image of the tree into an archive. Builds do not run side
// by side: they share the storage.
func buildImage(tree, name, archive string, architectures ...string) error {
	cmd := exec.Command(filepath.Join(tree, "deploy/image/build.sh"), append([]string{name, archive}, architectures...)...)
	cmd.Env = append(os.Environ(), "STORAGE="+strings.Join(storage(), " "))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the image (as root, with buildah: make container-tools): %w\n%s", err, out)
	}
	return nil
}

// copyTree copies the tree as it is, with its history, to another place.
func copyTree(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "a place", "with another name")
	list, err := exec.Command("git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("../..", file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(to, file)), 0o755), os.WriteFile(filepath.Join(to, file), content, info.Mode())); err != nil {
			t.Fatal(err)
		}
	}
	history, err := exec.Command("git", "-C", "../..", "rev-parse", "--absolute-git-dir").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(to, ".git"), os.DirFS(strings.TrimSpace(string(history)))); err != nil {
		t.Fatal(err)
	}
	return to
}

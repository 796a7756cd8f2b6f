package view_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tidings/view"
)

// childDir tells this test binary to be the other process.
const childDir = "VIEW_TEST_CHILD_DIR"

// TestChild is no test: it fills a view until it is killed. Each Apply of n+1
// adds one record, so there must always be as many records as the position says,
// also when what was applied last had not reached the file.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only as the other process")
	}
	v, err := view.Open(t.Context(), newFixture().model, "log1", view.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for {
		put(t, v, "Post", object{"id": numbered(int(v.Position())), "title": "x"})
		if v.Position()%50 == 0 {
			if _, err := v.Count(t.Context(), "Post", nil, ""); err != nil { // what a list shows is in the file
				t.Fatal(err)
			}
			fmt.Println("\nfilled")
		}
	}
}

func TestOtherProcessIsRefusedAndItsDeathHarmsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 3 { // each child goes on where the last one was killed
		kill := startChild(t, dir)
		_, err := view.Open(t.Context(), newFixture().model, "log1", view.Options{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "another process uses this directory") {
			t.Fatal(err)
		}
		kill()
		v := open(t, newFixture().model, dir)
		n, err := v.Count(t.Context(), "Post", nil, "")
		if err != nil || n < 50 || uint64(n) != v.Position() {
			t.Fatalf("%d records at position %d, %v", n, v.Position(), err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// startChild returns when the other process has filled its view, and is still at it.
func startChild(t *testing.T, dir string) (kill func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "filled" {
			return func() { cancel(); _ = child.Wait() }
		}
	}
	cancel()
	t.Fatal("the other process ended: ", child.Wait())
	return nil
}

package proc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tidings/internal/proc"
)

// inside is set in a process that a test has put into a cgroup, to what it is to do.
const inside = "PROC_TEST_INSIDE"

// cgroup makes one with a limit of memory for a child of this process, or skips
// the test with the reason why it cannot.
func cgroup(t *testing.T, limit int) (procs string) {
	t.Helper()
	name := fmt.Sprintf("proc-test-%d-%d", os.Getpid(), limit)
	for _, c := range []struct{ under, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, // v1, or both mounted
		{"/sys/fs/cgroup", "memory.max"},                   // v2
	} {
		dir := filepath.Join(c.under, name)
		if os.Mkdir(dir, 0o700) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // it is empty when the child has ended
		if os.WriteFile(filepath.Join(dir, c.file), []byte(strconv.Itoa(limit)), 0o600) == nil {
			return filepath.Join(dir, "cgroup.procs")
		}
	}
	t.Skip("no cgroup can be made here: it takes root, and a hierarchy that may be written to")
	return ""
}

// child runs the named test alone in the cgroup, and returns what it printed.
func child(t *testing.T, procs, test, what string, environ ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, procs, os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(append(os.Environ(), inside+"="+what), environ...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &errors)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func TestAProcessKeepsWithinItsCgroup(t *testing.T) {
	if os.Getenv(inside) != "" {
		_ = json.NewEncoder(os.Stdout).Encode(proc.Fit(0)) // the parent misses it if it fails
		return
	}
	for limit, memory := range map[int]int64{1 << 30: 1 << 30 / 100 * 90, 256 << 20: 192 << 20, 100 << 20: 50 << 20} {
		keepsWithin(t, limit, memory)
	}
}

// keepsWithin expects what the Go runtime may have of a limit.
func keepsWithin(t *testing.T, limit int, memory int64) {
	t.Helper()
	procs := cgroup(t, limit)
	var f proc.Fitted
	for _, c := range []struct {
		environ string
		memory  int64
		from    string
	}{
		{"GOMEMLIMIT=", memory, "cgroup"},
		{"GOMEMLIMIT=100MiB", 100 << 20, "GOMEMLIMIT"},
		{"GOMEMLIMIT=off", 0, "GOMEMLIMIT"},
	} {
		got := child(t, procs, "TestAProcessKeepsWithinItsCgroup", "print", c.environ)
		if err := json.Unmarshal([]byte(got), &f); err != nil || f.Container != int64(limit) || f.Memory != c.memory || f.MemoryFrom != c.from {
			t.Errorf("%s: %s %v", c.environ, got, err)
		}
	}
}

// A process that holds more than half of what it may have, and would be killed for
// the garbage that it lets gather, keeps within its limit instead.
func TestACollectorThatWaitsDoesNotCostAContainerItsLife(t *testing.T) {
	if racing {
		t.Skip("the race detector takes memory of its own")
	}
	switch os.Getenv(inside) {
	case "":
		for what, lives := range map[string]bool{"fit": true, "unfit": false} {
			procs := cgroup(t, 512<<20) // an eighth of it is for what the collector is late by
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, procs, os.Args[0], "-test.run=^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), inside+"="+what)
			if out, err := cmd.CombinedOutput(); (err == nil) != lives {
				t.Errorf("%s: %v\n%s", what, err, out)
			}
			if err := os.Remove(filepath.Dir(procs)); err != nil {
				t.Error(err)
			}
		}
		return
	case "fit":
		proc.Fit(0)
	}
	defer proc.Collector()()
	held := make([]byte, 300<<20)
	for i := range held {
		held[i] = byte(i)
	}
	for range 3000 {
		garbage := make([]byte, 1<<20)
		for i := 0; i < len(garbage); i += 4096 {
			garbage[i] = held[i]
		}
	}
}

//go:build conformance

package image

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// nobody is the user of the image.
const nobody = 65532

const secret = "a secret of the tests, 32 bytes long"

// container is one that runs until its test ends.
type container struct {
	name  string
	log   *output
	ended chan error // receives how it ended, once
}

// output is what a container has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func podman(args ...string) *exec.Cmd {
	return exec.Command("podman", append(append(storage(), "--cgroup-manager", "cgroupfs", "--runtime", "runc"), args...)...)
}

// hardened are the options under which the image is meant to run.
var hardened = []string{
	"--rm", "--network", "host", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL",
	"--security-opt", "no-new-privileges", "--ulimit", "nofile=20000:20000", "--ulimit", "nproc=20000:20000",
}

// start starts a container of the image with the example schema. options are of
// podman, args of the program.
func start(t *testing.T, options []string, args ...string) *container {
	t.Helper()
	image(t)
	schema, err := filepath.Abs("../../examples/social")
	if err != nil {
		t.Fatal(err)
	}
	c := &container{name: "tidings-" + strconv.FormatInt(time.Now().UnixNano(), 36), log: new(output), ended: make(chan error, 1)}
	all := append([]string{"run", "--name", c.name, "-v", schema + ":/schema:ro", "-e", "TIDINGS_JWT_SECRET=" + secret}, hardened...)
	cmd := podman(append(append(append(all, options...), name), args...)...)
	cmd.Stdout, cmd.Stderr = c.log, c.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = podman("kill", "-s", "KILL", c.name).Run() // it may have ended
		<-gone
		if t.Failed() {
			t.Logf("---- the container wrote\n%s", c.log)
		}
	})
	return c
}

// volume is a directory that the image's user may write to, as an option.
func volume(t *testing.T) (dir string, option []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"-v", dir + ":/data"}
}

// terminate sends SIGTERM to it.
func (c *container) terminate(t *testing.T) {
	t.Helper()
	if out, err := podman("kill", "-s", "TERM", c.name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// end waits for the end and fails when that is not with status 0.
func (c *container) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-c.ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// await polls the URL until it answers 200.
func (c *container) await(t *testing.T, url string) {
	t.Helper()
	c.until(t, url+" answers", func() error {
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

// until polls a condition while the container runs.
func (c *container) until(t *testing.T, what string, holds func() error) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case end := <-c.ended:
			t.Fatalf("%s: the container has ended: %v", what, end)
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// status is /proc/<pid>/status of its process, by the names in it.
func (c *container) status(t *testing.T) map[string]string {
	t.Helper()
	pid, err := podman("inspect", "--format", "{{.State.Pid}}", c.name).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%s/status", strings.TrimSpace(string(pid))))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// freePort is an address on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

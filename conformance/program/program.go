// Package program builds the service's programs and runs them for tests with
// foreign clients. Tests that kill, cut off and restart have their own means.
package program

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Secret verifies the tokens of all programs that are run here.
const Secret = "a secret of the tests, 32 bytes long"

// dir holds the programs while the tests run.
var dir string

// Main runs the tests of a package that calls Start; its TestMain exits with what
// it returns.
func Main(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "tidings-program-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// build builds the programs into dir.
var build = sync.OnceValue(func() error {
	if dir == "" {
		return errors.New("the package has no TestMain that calls program.Main")
	}
	if out, err := exec.Command("go", "build", "-o", dir, "tidings/cmd/api", "tidings/cmd/worker").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

// Running is a program that runs until its test ends.
type Running struct {
	URL string // what it says of its address

	mu  sync.Mutex
	log strings.Builder
}

// Log returns what it has written so far.
func (r *Running) Log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// Start runs api or worker with a free port and no admin port, and returns when it
// says that it runs. environ are further variables, NAME=value. The test fails
// when the program ends by itself, or with an error; what it wrote is shown where
// the test fails.
func Start(t *testing.T, name string, environ []string, args ...string) *Running {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, name), append(args, "--listen", "127.0.0.1:0", "--admin", "", "--drain-delay", "0s", "--drain-window", "1s")...)
	cmd.Env = append(append(os.Environ(), "TIDINGS_JWT_SECRET="+Secret), environ...)
	text, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r, address, ended := &Running{}, make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		r.read(bufio.NewScanner(text), name, address)
	}()
	t.Cleanup(func() { r.stop(t, cmd, ended) })
	select {
	case r.URL = <-address:
	case <-ended:
		t.Fatalf("%s has ended", name)
	case <-time.After(time.Minute):
		t.Fatalf("%s does not say its address", name)
	}
	return r
}

// read keeps what is written, and notes where the program is.
func (r *Running) read(lines *bufio.Scanner, name string, address chan<- string) {
	for lines.Scan() {
		var entry struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == name+" runs" {
			address <- entry.URL
		}
		r.mu.Lock()
		r.log.WriteString(lines.Text() + "\n")
		r.mu.Unlock()
	}
}

// stop ends the program, and waits for it and for the end of what it writes.
func (r *Running) stop(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(45 * time.Second):
		t.Error("the program does not end")
		_ = cmd.Process.Kill()
		<-ended
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	if t.Failed() {
		t.Logf("---- it wrote\n%s", r.Log())
	}
}

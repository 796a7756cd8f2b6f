//go:build conformance

package console_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// service is an api in development, with a console.
type service struct {
	program, data, public, admin string
	cmd                          *exec.Cmd
}

func startService(t *testing.T) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{program: filepath.Join(dir, "api"), data: filepath.Join(dir, "data"), public: "http://" + free(t), admin: "http://" + free(t)}
	if out, err := exec.Command("go", "build", "-o", s.program, "tidings/cmd/api").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.start(t)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// free is an address that nobody listens to.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *service) start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.program, "--dev", "--schema", "../../examples/social", "--data", s.data,
		"--listen", strings.TrimPrefix(s.public, "http://"), "--admin", strings.TrimPrefix(s.admin, "http://"))
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		if resp, err := http.Get(s.admin + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == 200 {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatal("the service is not ready in a minute")
		}
	}
}

// stop ends the service, if it runs.
func (s *service) stop(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the service ended with %v", err)
	}
	s.cmd = nil
}

// token is one of development.
func (s *service) token(t *testing.T, subject, role string) string {
	t.Helper()
	out, err := exec.Command(s.program, "token", "--sub", subject, "--roles", role, "--data", s.data).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

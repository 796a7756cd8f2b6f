//go:build conformance

package queryui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidings/auth"
	"tidings/schema"
)

const secret = "a secret of the tests, 32 bytes long"

// bin is where TestMain has built the program.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidings-queryui-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if out, err := exec.Command("go", "build", "-o", dir, "tidings/cmd/api").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// service is the whole service in development, which can be stopped and started
// again at the same address.
type service struct {
	url  string
	args []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	gone chan struct{}
	out  bytes.Buffer
}

// serve runs it until the test ends.
func serve(t *testing.T, schema string, args ...string) *service {
	t.Helper()
	address := freePort(t)
	s := &service{url: "http://" + address + "/graphql", args: append([]string{"--dev", "--schema", schema, "--data", t.TempDir(), "--listen", address, "--admin", "",
		"--drain-delay", "0s", "--drain-window", "100ms", "--max-requests", "-1"}, args...)}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the service printed\n%s", s.out.Bytes())
		}
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// start returns when it answers.
func (s *service) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.Command(filepath.Join(bin, "api"), s.args...)
	cmd.Env = append(os.Environ(), "TIDINGS_JWT_SECRET="+secret)
	cmd.Stderr, cmd.Stdout = &s.out, &s.out
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() { defer close(gone); _ = cmd.Wait() }()
	s.cmd, s.gone = cmd, gone
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		select {
		case <-gone:
			return errors.New("the service has ended")
		default:
		}
		resp, err := http.Get(s.url + "?query={__typename}")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.New("the service does not answer")
}

// stop ends it, and returns when it has ended.
func (s *service) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.gone
	s.cmd = nil
	return nil
}

// control lets a walk stop and start the service, and change its schema.
func control(t *testing.T, actions map[string]func() error) string {
	t.Helper()
	mux := http.NewServeMux()
	for name, do := range actions {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, _ *http.Request) {
			if err := do(); err != nil {
				t.Errorf("%s: %v", name, err)
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// walk has the script do one of its walks. PICTURES names a directory for what
// it sees.
func walk(t *testing.T, what, url, control string) {
	t.Helper()
	token, err := auth.Sign([]byte(secret), auth.Principal{Subject: "root", Roles: schema.Admin | schema.User}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pictures := os.Getenv("PICTURES")
	settings, err := json.Marshal(map[string]string{"url": url, "token": token, "control": control, "pictures": pictures})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Fatal("Chromium is missing: run make clients")
	}
	out, err := exec.CommandContext(t.Context(), "node", "walk.mjs", what, string(settings)).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", what, err, out)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

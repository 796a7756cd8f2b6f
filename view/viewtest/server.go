package viewtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a PostgreSQL of one test, which may stop it, kill it and start it
// again. It ends with the test.
type Server struct {
	// URL is that of its database.
	URL string

	bin, dir string
	port     int
	cmd      *exec.Cmd
	done     chan struct{}
}

// NewServer starts a server with an empty database. The test is skipped when
// Debian's package postgresql is not installed.
func NewServer(t testing.TB) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	if len(found) == 0 {
		t.Skip("there is no /usr/lib/postgresql/*/bin/initdb: make postgres installs it")
	}
	slices.Sort(found)
	dir, err := os.MkdirTemp("", "tidings-postgres-") // not the test's own: another user must get there
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{bin: filepath.Dir(found[len(found)-1]), dir: dir, port: freePort(t)}
	s.URL = fmt.Sprintf("postgres://tidings@127.0.0.1:%d/postgres?sslmode=disable", s.port)
	t.Cleanup(func() {
		s.Kill(t)
		_ = os.RemoveAll(dir)
	})
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := s.command("initdb", "-D", "data", "-U", "tidings", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.Start(t)
	return s
}

// nobody is the user that runs the server, which refuses to be root.
const nobody = 65534

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

// Start starts the server and waits until it takes connections.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		if !s.running() { // what a killed one has left may be in the way for a moment
			s.run(t)
		}
		if s.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", fmt.Sprint(s.port)).Run() == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("postgres takes no connections")
		}
	}
}

func (s *Server) run(t testing.TB) {
	t.Helper()
	s.cmd = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-p", fmt.Sprint(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+s.dir, "-c", "max_connections=100")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, done := s.cmd, make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // it was told to end
	}()
	s.done = done
}

func (s *Server) running() bool {
	select {
	case <-s.done:
		return false
	default:
		return s.cmd != nil
	}
}

// Stop stops the server as an administrator does who is in a hurry: sessions
// are ended.
func (s *Server) Stop(t testing.TB) { s.end(t, syscall.SIGINT) }

// Kill ends it as a crash does.
func (s *Server) Kill(t testing.TB) { s.end(t, syscall.SIGKILL) }

func (s *Server) end(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if s.cmd == nil || s.cmd.Process == nil || !s.running() {
		return
	}
	pid := s.cmd.Process.Pid
	if sig == syscall.SIGKILL {
		pid = -pid // its children too, as when the machine is gone
	}
	if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
		t.Error(err)
	}
	<-s.done
}

// Roles makes the two roles of docs/operations.md and returns the URLs with which
// they come: one that may make tables and fill them, and one that may read them.
func (s *Server) Roles(t testing.TB) (owner, reader string) {
	t.Helper()
	sql := `CREATE ROLE tidings_owner LOGIN; CREATE ROLE tidings_reader LOGIN;
		GRANT CONNECT, CREATE ON DATABASE postgres TO tidings_owner;
		GRANT CONNECT ON DATABASE postgres TO tidings_reader;
		ALTER DEFAULT PRIVILEGES FOR ROLE tidings_owner GRANT USAGE ON SCHEMAS TO tidings_reader;
		ALTER DEFAULT PRIVILEGES FOR ROLE tidings_owner GRANT SELECT ON TABLES TO tidings_reader`
	if out, err := s.command("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", s.URL, "-c", sql).CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	with := func(role string) string { return strings.Replace(s.URL, "tidings@", role+"@", 1) }
	return with("tidings_owner"), with("tidings_reader")
}

//go:build conformance

package processes

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// bin is where TestMain has built the programs, or another process has that
// names the place by the variable.
var bin string

const binVariable = "TIDINGS_TEST_BIN"

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if bin = os.Getenv(binVariable); bin != "" { // a test runs itself elsewhere: see inNetwork
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "tidings-processes-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds the programs as a release is built, or, when the tests run with
// the race detector, with it.
func build(dir string) error {
	args, env := []string{"build", "-o", dir}, append(os.Environ(), "CGO_ENABLED=0")
	if withRace {
		args, env = append(args, "-race"), os.Environ()
	}
	cmd := exec.Command("go", append(args, "tidings/cmd/api", "tidings/cmd/worker", "github.com/nats-io/nats-server/v2")...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}

// program is the path of a built program, or the name of one that others made.
func program(name string) string {
	built := filepath.Join(bin, name)
	if _, err := os.Stat(built); err != nil {
		return name
	}
	return built
}

// social is the directory of the example schema.
func social(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../examples/social")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// process is one program that can be killed and started again.
type process struct {
	name  string // its first word is the program
	path  string // of a program of another version; empty: the one that was built
	ready string // URL that answers 200 when the process is; empty: none
	args  []string
	env   []string
	host  string                // in a network of the test's own, where it runs; empty: in no such network
	begin func(*exec.Cmd) error // starts it; nil: as usual
	dir   string

	mu   sync.Mutex
	cmd  *exec.Cmd
	out  string        // file with what it printed, of all its lives
	gone chan struct{} // closed when the running one has ended
}

// start runs a program until the test ends and waits until it is ready.
// Everything that it leaves behind, also when it is killed, lies in
// directories of the test.
func start(t testing.TB, p *process) *process {
	t.Helper()
	p.dir = t.TempDir()
	p.out = filepath.Join(p.dir, "output")
	t.Cleanup(func() {
		p.kill(t)
		if trace := traces.FindString(p.output(t)); trace != "" {
			t.Errorf("%s printed %q", p.name, trace)
		}
		if t.Failed() {
			t.Logf("---- %s printed\n%s", p.name, tail(p.output(t), 6000))
		}
	})
	p.run(t)
	p.waitReady(t)
	return p
}

// run starts the program and does not wait for anything.
func (p *process) run(t testing.TB) {
	t.Helper()
	out, err := os.OpenFile(p.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // the process has its own
	command := append([]string{cmp.Or(p.path, program(strings.Fields(p.name)[0]))}, p.args...)
	if p.host != "" {
		command = append([]string{"ip", "netns", "exec", p.host}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(environ(p.dir), p.env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begin := cmd.Start
	if p.begin != nil {
		begin = func() error { return p.begin(cmd) }
	}
	if err := begin(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.gone = cmd, gone
}

// traces are signs of a crash, a race or a message with holes: no program
// ever prints them.
var traces = regexp.MustCompile(`goroutine \d+ \[|panic:|fatal error:|DATA RACE|%!`)

// environ is what a process sees: nothing of ours but where programs are and
// where temporary files go.
func environ(tmp string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp}
}

func (p *process) running() (*exec.Cmd, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd, p.gone
}

// kill ends the process as a crash would, and returns when it is gone.
func (p *process) kill(t testing.TB) {
	t.Helper()
	cmd, gone := p.running()
	if cmd == nil {
		return
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("kill %s: %v", p.name, err)
	}
	<-gone
}

// restart starts a process that was killed, with the same settings, and waits
// until it is ready.
func (p *process) restart(t testing.TB) {
	t.Helper()
	p.run(t)
	p.waitReady(t)
}

// terminate sends SIGTERM and returns at once.
func (p *process) terminate(t testing.TB) {
	t.Helper()
	cmd, _ := p.running()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("terminate %s: %v", p.name, err)
	}
}

// exit waits for the end of the process and returns its status.
func (p *process) exit(t testing.TB, within time.Duration) int {
	t.Helper()
	cmd, gone := p.running()
	select {
	case <-gone:
		return cmd.ProcessState.ExitCode()
	case <-time.After(within):
		t.Fatalf("%s still runs after %s", p.name, within)
		return -1
	}
}

// mustRun fails the test when the process has ended by itself.
func (p *process) mustRun(t testing.TB) {
	t.Helper()
	cmd, gone := p.running()
	select {
	case <-gone:
		t.Fatalf("%s has ended by itself: %s", p.name, cmd.ProcessState)
	default:
	}
}

func (p *process) waitReady(t testing.TB) {
	t.Helper()
	if p.ready == "" {
		return
	}
	client := http.Client{Timeout: time.Second}
	poll(t, 30*time.Second, p.name+" is ready", func() error {
		p.mustRun(t)
		resp, err := client.Get(p.ready)
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

// output is everything that the process has printed so far.
func (p *process) output(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(p.out)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// poll asks until the condition holds, and fails the test when it does not
// within the time.
func poll(t testing.TB, within time.Duration, what string, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s: %v", within, what, err)
		}
		<-tick.C
	}
}

// freePort is a port on which nobody listens. It lies below the range that the
// kernel gives to outgoing connections: otherwise one of those could take it
// while its process is down.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(18000))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port found")
	return ""
}

// tail is the end of a text that is too long to show.
func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "…" + s[len(s)-most:]
}

// api is an api process and how to reach it.
type api struct {
	*process
	url string // base, without a path
}

// startAPI runs an api in development mode. Processes with the same data
// directory share its development key.
func startAPI(t testing.TB, name, data string, env []string, more ...string) *api {
	t.Helper()
	listen, admin := freePort(t), freePort(t)
	args := []string{"--dev", "--schema", social(t), "--data", data, "--listen", listen, "--admin", admin}
	p := &process{name: name, ready: "http://" + admin + "/readyz", args: slices.Concat(args, more), env: env}
	return &api{process: start(t, p), url: "http://" + listen}
}

// startWorker runs a worker in development mode.
func startWorker(t testing.TB, name, data string, env []string) *process {
	t.Helper()
	admin := freePort(t)
	return start(t, &process{
		name: name, ready: "http://" + admin + "/readyz", env: env,
		args: []string{"--dev", "--schema", social(t), "--data", data, "--admin", admin},
	})
}

// startNATS runs a nats-server with JetStream on files, and returns its URL, too.
func startNATS(t testing.TB) (*process, string) {
	t.Helper()
	addr, monitor := freePort(t), freePort(t)
	_, port, _ := net.SplitHostPort(addr)
	_, monitorPort, _ := net.SplitHostPort(monitor)
	p := start(t, &process{
		name: "nats-server", ready: "http://" + monitor + "/healthz",
		args: []string{"-a", "127.0.0.1", "-p", port, "-m", monitorPort, "-js", "-sd", t.TempDir()},
	})
	return p, "nats://" + addr
}

// token prints a token of the development key in data.
func token(t testing.TB, data, sub, roles string) string {
	t.Helper()
	return tokenFor(t, data, sub, roles, 24*time.Hour)
}

// tokenFor prints one that is good for so long.
func tokenFor(t testing.TB, data, sub, roles string, long time.Duration) string {
	t.Helper()
	cmd := exec.Command(program("api"), "token", "--sub", sub, "--roles", roles, "--data", data, "--ttl", long.String())
	cmd.Env = environ(t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("api token: %v", err)
	}
	return strings.TrimSpace(string(out))
}

//go:build conformance

package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/schema"
)

const secret = "a secret of the tests, 32 bytes long"

// bin is where TestMain has built the programs.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidings-live-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if out, err := exec.Command("go", "build", "-o", dir, "tidings/cmd/api", "tidings/cmd/worker").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// program is a process that can be killed and started again.
type program struct {
	name  string
	args  []string
	env   []string
	ready string // address of the admin port

	cmd  *exec.Cmd
	gone chan struct{}
	out  output
}

// output is what a process has printed.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

// tail is the end of it.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.buf.Bytes()
	return string(b[max(0, len(b)-4000):])
}

// start runs it until the test ends, or it is killed, and waits until it is ready.
func (p *program) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, p.name), p.args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}, p.env...)
	cmd.Stderr = &p.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { defer close(gone); _ = cmd.Wait() }()
	p.cmd, p.gone = cmd, gone
	await(t, time.Minute, p.name+" is ready", func() error {
		select {
		case <-gone:
			t.Fatalf("%s has ended: %s", p.name, p.out.tail())
		default:
		}
		resp, err := http.Get("http://" + p.ready + "/readyz")
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

// kill ends it as a crash would.
func (p *program) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may be gone already
	<-p.gone
}

// cluster is a worker and some apis behind a balancer.
type cluster struct {
	apis     []*program
	backends []string
	balancer *balancer
}

// newCluster starts them; pages of the origin may call. The apis have more settings.
func newCluster(t *testing.T, n int, origin string, more ...string) *cluster {
	t.Helper()
	b := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	env := []string{"TIDINGS_NATS_URL=" + b.URL(), "TIDINGS_JWT_SECRET=" + secret}
	social, err := filepath.Abs("../../examples/social")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) *program {
		admin := freePort(t)
		p := &program{name: name, env: env, ready: admin, args: append([]string{"--dev", "--schema", social, "--data", t.TempDir(), "--admin", admin}, args...)}
		t.Cleanup(func() {
			p.kill()
			if t.Failed() {
				t.Logf("%s printed\n%s", name, p.out.tail())
			}
		})
		p.start(t)
		return p
	}
	run("worker")
	c := &cluster{}
	for range n {
		listen := freePort(t)
		c.apis = append(c.apis, run("api", append([]string{"--listen", listen, "--origins", origin}, more...)...))
		c.backends = append(c.backends, listen)
	}
	c.balancer = balance(t, c.backends)
	return c
}

func (c *cluster) url() string { return "http://" + c.balancer.addr + "/graphql" }

// write creates a post by way of one of the apis, and returns its id.
func (c *cluster) write(t *testing.T, api int, title string) (id string) {
	t.Helper()
	return c.mutate(t, api, title, `mutation($t: String!) { post: createPost(input: {title: $t}) { id } }`, map[string]string{"t": title})
}

// retitle changes a post.
func (c *cluster) retitle(t *testing.T, api int, id, title string) {
	t.Helper()
	c.mutate(t, api, title, `mutation($id: ID!, $t: String!) { post: updatePost(input: {id: $id, title: $t}) { id } }`, map[string]string{"id": id, "t": title})
}

// mutate sends a mutation until it is answered, under a key of its own.
func (c *cluster) mutate(t *testing.T, api int, key, query string, variables map[string]string) (id string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"query": query, "variables": variables})
	await(t, time.Minute, "a post is written", func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.backends[api]+"/graphql", bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token(t, "alice"))
		r.Header.Set("Idempotency-Key", `"`+key+`"`)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer struct {
			Data struct{ Post struct{ ID string } }
		}
		text, err := io.ReadAll(resp.Body)
		if err == nil && (json.Unmarshal(text, &answer) != nil || answer.Data.Post.ID == "") {
			err = errors.New(string(text))
		}
		id = answer.Data.Post.ID
		return err
	})
	return id
}

func token(t *testing.T, subject string) string {
	t.Helper()
	s, err := auth.Sign([]byte(secret), auth.Principal{Subject: subject, Roles: schema.User}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// balancer passes each connection on to the next backend that is there.
type balancer struct {
	addr     string
	backends []string
	mu       sync.Mutex
	next     int
}

func balance(t *testing.T, backends []string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{addr: l.Addr().String(), backends: backends}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { b.pass(ctx, conn) })
		}
	})
	return b
}

// pass copies both ways until either end is gone.
func (b *balancer) pass(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	back := b.dial()
	if back == nil {
		return
	}
	defer back.Close()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { defer cancel(); _, _ = io.Copy(back, conn) })
	wg.Go(func() { defer cancel(); _, _ = io.Copy(conn, back) })
	<-ctx.Done()
	conn.Close()
	back.Close()
	wg.Wait()
}

func (b *balancer) dial() net.Conn {
	for range b.backends {
		b.mu.Lock()
		addr := b.backends[b.next%len(b.backends)]
		b.next++
		b.mu.Unlock()
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn
		}
	}
	return nil
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

// await asks until the condition holds.
func await(t *testing.T, within time.Duration, what string, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
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

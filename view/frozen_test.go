package view_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tidings/view"
	"tidings/view/viewtest"
)

// Where the other process finds the tables that it fills.
const (
	childURL    = "VIEW_TEST_CHILD_URL"
	childPrefix = "VIEW_TEST_CHILD_PREFIX"
)

// TestFillingChild is no test: it fills shared tables, at last with more than any
// buffer on the way holds.
func TestFillingChild(t *testing.T) {
	url := os.Getenv(childURL)
	if url == "" {
		t.Skip("only as the other process")
	}
	p, err := view.OpenProjection(t.Context(), newFixture().model, "log1", view.SharedOptions{URL: url, Prefix: os.Getenv(childPrefix)})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), 1, []view.Change{{Seq: 1, Type: "Post", ID: "a", Raw: object{"id": "a"}.raw()}}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("\nfilled")
	var changes []view.Change
	for i := range 32 {
		id := numbered(i)
		changes = append(changes, view.Change{Seq: uint64(i + 2), Type: "Post", ID: id, Raw: object{"id": id, "title": strings.Repeat("x", 1<<19)}.raw()})
	}
	fmt.Printf("\nended: %v\n", p.Apply(t.Context(), 33, changes))
}

// valve hands over what one side sends, and stops in the middle of what a client
// sends when that is more than a bound.
type valve struct {
	net.Listener
	to    string
	bound atomic.Int64  // bytes from clients; 0: none
	full  chan struct{} // closed when it was reached
	open  chan struct{} // closed when more is to go through
	wg    sync.WaitGroup
}

func newValve(t *testing.T, to string) *valve {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{Listener: l, to: to, full: make(chan struct{}), open: make(chan struct{})}
	v.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			v.wg.Go(func() { v.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		v.wg.Wait()
	})
	return v
}

func (v *valve) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", v.to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	v.wg.Go(func() {
		_, _ = io.Copy(client, server) // its end is the other's
		_ = client.Close()
	})
	buffer, sent := make([]byte, 16<<10), int64(0)
	for {
		n, err := client.Read(buffer)
		if _, failed := server.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
		bound := v.bound.Load()
		if sent += int64(n); bound > 0 && sent > bound {
			close(v.full)
			<-v.open
			v.bound.Store(0)
		}
	}
}

// A process that is frozen in the middle of what it sends is replaced, and does
// no harm when it goes on.
func TestAFrozenProjectionIsTakenOver(t *testing.T) {
	t.Parallel()
	o := viewtest.Options(t)
	host, rest, _ := strings.Cut(strings.SplitN(o.URL, "@", 2)[1], "/")
	v := newValve(t, host)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestFillingChild$", "-test.v")
	child.Env = append(os.Environ(), childURL+"="+strings.SplitN(o.URL, "@", 2)[0]+"@"+v.Addr().String()+"/"+rest, childPrefix+"="+o.Prefix)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for said.Scan() && said.Text() != "filled" {
	}
	v.bound.Store(1 << 20)
	select {
	case <-v.full:
	case <-ctx.Done():
		t.Fatal("the process sends nothing")
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	close(v.open) // what has left it arrives

	second, err := view.OpenProjection(ctx, newFixture().model, "log1", view.Impatient(o, 2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if second.Position() != 1 {
		t.Errorf("it begins at %d", second.Position())
	}
	if err := second.Apply(ctx, 2, []view.Change{{Seq: 2, Type: "Post", ID: "b", Raw: object{"id": "b"}.raw()}}); err != nil {
		t.Error(err)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	ended := ""
	for said.Scan() {
		if text, ok := strings.CutPrefix(said.Text(), "ended: "); ok {
			ended = text
		}
	}
	if err := child.Wait(); err != nil || ended == "" || ended == "<nil>" {
		t.Errorf("the frozen one ended with %q, %v", ended, err)
	}
	if err := second.Apply(ctx, 3, []view.Change{{Seq: 3, Type: "Post", ID: "b"}}); err != nil || second.Position() != 3 {
		t.Errorf("at %d: %v", second.Position(), err)
	}
}

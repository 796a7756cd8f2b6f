package proc_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidings/internal/proc"
)

// pipes is a listener in memory, whose connections know the time of a bubble.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// served runs f against a server in a bubble, with a connection to it.
func served(t *testing.T, h http.Handler, f func(t *testing.T, c net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- proc.ServeHTTP(ctx, silent, l, h, nil, nil) }()
		client, server := net.Pipe()
		l.conns <- server
		f(t, client)
		client.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// drip sends a byte each second until the other side has enough.
func drip(c net.Conn, text string) {
	for _, b := range []byte(text) {
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// closedWithin fails unless the server closes the connection before the time is
// over. It returns what came before that.
func closedWithin(t *testing.T, c net.Conn, limit time.Duration) string {
	t.Helper()
	start := time.Now()
	got, err := io.ReadAll(c)
	if took := time.Since(start); took > limit || errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("it took %s to be cut: %v", took, err)
	}
	return string(got)
}

var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, "slow", http.StatusRequestTimeout)
	}
})

const head = "POST / HTTP/1.1\r\nHost: x\r\n"

func TestHeadersThatDripAreCutOff(t *testing.T) {
	t.Parallel()
	served(t, echo, func(t *testing.T, c net.Conn) {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { drip(c, head+strings.Repeat("X-Slow: 1\r\n", 1000)) })
		closedWithin(t, c, 15*time.Second)
	})
}

func TestBodiesThatDripAreCutOff(t *testing.T) {
	t.Parallel()
	served(t, echo, func(t *testing.T, c net.Conn) {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			_, _ = io.WriteString(c, head+"Content-Length: 100000\r\n\r\n") // fails when it is cut, which is what is tested
			drip(c, strings.Repeat("x", 1000))
		})
		if got := closedWithin(t, c, 65*time.Second); !strings.HasPrefix(got, "HTTP/1.1 408") {
			t.Errorf("got %q", got)
		}
	})
}

func TestConnectionsThatAreSilentAreCutOff(t *testing.T) {
	t.Parallel()
	served(t, echo, func(t *testing.T, c net.Conn) {
		if _, err := io.WriteString(c, head+"Content-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 200 || resp.Close {
			t.Fatalf("%+v, %v", resp, err)
		}
		closedWithin(t, c, 125*time.Second)
	})
	served(t, echo, func(t *testing.T, c net.Conn) { closedWithin(t, c, 15*time.Second) })
}

func TestClientsThatDoNotReadAreCutOff(t *testing.T) {
	t.Parallel()
	var stuck atomic.Int64 // for how long the handler was
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		start := time.Now()
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				stuck.Store(int64(time.Since(start)))
				return
			}
		}
	})
	served(t, h, func(t *testing.T, c net.Conn) {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(95 * time.Second)
		if stuck.Load() == 0 {
			t.Error("a handler is stuck")
		}
	})
}

func TestHugeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	served(t, echo, func(t *testing.T, c net.Conn) {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { _, _ = io.WriteString(c, head+"X-Huge: "+strings.Repeat("x", 1<<20)) }) // as above
		if got := closedWithin(t, c, 15*time.Second); !strings.HasPrefix(got, "HTTP/1.1 431") {
			t.Errorf("got %q", got)
		}
	})
}

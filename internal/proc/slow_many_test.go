package proc_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidings/internal/proc"
)

// A thousand slow ones hold nobody up, all are cut off, and nothing of them stays:
// the bubble ends with the last goroutine.
func TestManyThatAreSlowHoldNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- proc.ServeHTTP(ctx, silent, l, echo, nil, nil) }()
		dial := func() net.Conn {
			client, server := net.Pipe()
			l.conns <- server
			return client
		}
		var slow sync.WaitGroup
		cut := func(c net.Conn, limit time.Duration) {
			slow.Go(func() { closedWithin(t, c, limit); c.Close() })
		}
		for range 500 {
			headers, body, silent := dial(), dial(), dial()
			slow.Go(func() { drip(headers, head+strings.Repeat("X-Slow: 1\r\n", 10)) })
			cut(headers, 15*time.Second)
			slow.Go(func() {
				_, _ = io.WriteString(body, head+"Content-Length: 100000\r\n\r\n") // fails when it is cut, which is what is tested
				drip(body, strings.Repeat("x", 100))
			})
			cut(body, 65*time.Second)
			cut(silent, 15*time.Second)
		}
		for range 5 {
			c, start := dial(), time.Now()
			if _, err := io.WriteString(c, head+"Content-Length: 0\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != http.StatusOK || time.Since(start) > time.Second {
				t.Errorf("after %s: %+v, %v", time.Since(start), resp, err)
			}
			c.Close()
			time.Sleep(3 * time.Second)
		}
		slow.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

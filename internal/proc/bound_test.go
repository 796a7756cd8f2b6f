package proc_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"tidings/internal/proc"
)

func TestConnectionsBeyondTheBoundAreClosedAtOnce(t *testing.T) {
	t.Parallel()
	const most = 8
	inner, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder // to be read after the end
	l := proc.Bound(slog.New(slog.NewTextHandler(&said, nil)), inner, most)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- proc.ServeHTTP(ctx, silent, l, echo, nil, nil) }()
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	answered := func(c net.Conn) bool {
		if _, err := io.WriteString(c, head+"Content-Length: 0\r\n\r\n"); err != nil {
			return false
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("neither answered nor closed")
		}
		return err == nil && resp.StatusCode == http.StatusOK
	}
	var open []net.Conn
	for range most {
		open = append(open, dial())
		if !answered(open[len(open)-1]) {
			t.Fatal("one within the bound is not answered")
		}
	}
	for range 20 {
		if answered(dial()) {
			t.Fatal("one beyond the bound is answered")
		}
	}
	for _, c := range open {
		if !answered(c) {
			t.Error("one within the bound is answered no more")
		}
		c.Close()
	}
	for deadline := time.Now().Add(20 * time.Second); !answered(dial()); {
		if time.Now().After(deadline) {
			t.Fatal("there is no room when all have gone")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.String(), "connections are refused"); n == 0 || !strings.Contains(said.String(), "max=8") {
		t.Errorf("the log says %d times: %s", n, said.String())
	}
}

func TestThereIsRoomBelowTheLimitOfDescriptors(t *testing.T) {
	t.Parallel()
	if n := proc.Room(); n < 0 {
		t.Errorf("room for %d", n)
	}
}

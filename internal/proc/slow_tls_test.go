package proc_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/internal/proc"
)

// private serves h over TLS on a real socket until the test ends, and returns its
// address and what a client needs.
func private(t *testing.T, h http.Handler) (address string, client *tls.Config) {
	t.Helper()
	donor := httptest.NewTLSServer(nil) // of its certificate
	t.Cleanup(donor.Close)
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	config := &tls.Config{Certificates: donor.TLS.Certificates, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	go func() { ended <- proc.ServeHTTP(ctx, silent, proc.Private(l, config), h, nil, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	client = donor.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client.ServerName = "example.com"
	return l.Addr().String(), client
}

// firstHalf is the beginning of a handshake, as a client sends it.
func firstHalf(t *testing.T, config *tls.Config) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(ours, config).Handshake() // ends with the pipe
		ours.Close()
	}()
	hello := make([]byte, 64)
	if _, err := io.ReadFull(theirs, hello); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	return hello
}

// A thousand who begin a handshake and do not go on, or send a request a byte at a
// time, or read no answer, hold nobody up, and those of the handshakes are closed
// after its ten seconds.
func TestAThousandSlowOnesOverTLSHoldNobodyUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("handshakes have ten seconds")
	}
	large := strings.Repeat("x", 8<<20)
	address, config := private(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil && r.URL.Path == "/large" {
			_, _ = io.WriteString(w, large) // fails when the client has gone
		}
	}))
	hello := firstHalf(t, config)
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	var halves []net.Conn
	for i := range 1000 {
		conn := dial()
		if i%2 == 0 { // the others say nothing at all
			if _, err := conn.Write(hello); err != nil {
				t.Fatal(err)
			}
		}
		halves = append(halves, conn)
	}
	stop := make(chan struct{})
	var dripping sync.WaitGroup
	defer dripping.Wait()
	defer close(stop)
	for range 20 {
		reader, writer := tls.Client(dial(), config), tls.Client(dial(), config)
		if _, err := io.WriteString(reader, "GET /large HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(writer, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1000\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		dripping.Go(func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					if _, err := writer.Write([]byte("x")); err != nil {
						return
					}
				case <-stop:
					return
				}
			}
		})
	}
	for range 20 {
		conn := tls.Client(dial(), config)
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("among the slow ones: %+v, %v", resp, err)
		}
	}
	limit := time.Now().Add(time.Minute) // ten seconds, on a machine with other work
	for i, conn := range halves {
		_ = conn.SetReadDeadline(limit)
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("handshake %d is still waited for", i)
		}
	}
}

// What is spoken are TLS 1.2 and 1.3, with suites that keep what was recorded from
// whoever gets the key later, and no weak ones.
func TestOldVersionsAndWeakSuitesOfTLSAreRefused(t *testing.T) {
	t.Parallel()
	address, config := private(t, http.NotFoundHandler())
	shake := func(version uint16, suites []uint16) (tls.ConnectionState, error) {
		c := config.Clone()
		c.MinVersion, c.MaxVersion, c.CipherSuites = version, version, suites
		conn, err := tls.Dial("tcp", address, c)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close()
		return conn.ConnectionState(), nil
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		if _, err := shake(version, nil); err == nil {
			t.Errorf("it speaks %s", tls.VersionName(version))
		}
	}
	for _, suite := range tls.InsecureCipherSuites() {
		if _, err := shake(tls.VersionTLS12, []uint16{suite.ID}); err == nil {
			t.Errorf("it takes %s", suite.Name)
		}
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		state, err := shake(version, nil)
		if err != nil || state.Version != version || !strings.Contains(tls.CipherSuiteName(state.CipherSuite), "_GCM_") && !strings.Contains(tls.CipherSuiteName(state.CipherSuite), "CHACHA20") {
			t.Errorf("%s: %s, %v", tls.VersionName(version), tls.CipherSuiteName(state.CipherSuite), err)
		}
	}
}

// What a client says before the handshake is over is nobody's: a request that was
// sent in the clear, or recorded before, is not answered.
func TestWhatIsSaidBesideTLSIsNotAnswered(t *testing.T) {
	t.Parallel()
	answered := make(chan string, 10)
	address, config := private(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { answered <- r.URL.Path }))
	for name, text := range map[string]string{
		"in the clear":                "GET /clear HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"HTTP/2 in the clear":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"behind half a handshake":     string(firstHalf(t, config)) + "GET /half HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"a record longer than it may": "\x17\x03\x03\xff\xff" + strings.Repeat("x", 100),
		"a hello of SSL 2":            "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + strings.Repeat("\x00", 37),
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		answer, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(string(answer), "HTTP/1.1 200") {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		conn.Close()
	}
	select {
	case path := <-answered:
		t.Errorf("%s was answered", path)
	default:
	}
}

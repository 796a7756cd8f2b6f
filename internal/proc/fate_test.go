package proc_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tidings/internal/proc"
)

// A client that goes without its answer is noticed, in the clear and over TLS,
// and one that has taken it is not.
func TestClientsThatGoWithoutTheirAnswerAreNoticed(t *testing.T) {
	t.Parallel()
	t.Run("in the clear", func(t *testing.T) { t.Parallel(); goWithout(t, false) })
	t.Run("over TLS", func(t *testing.T) { t.Parallel(); goWithout(t, true) })
}

func goWithout(t *testing.T, private bool) {
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dial := func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
	served := l
	if private {
		donor := httptest.NewTLSServer(nil) // of its certificate
		defer donor.Close()
		served = proc.Private(l, &tls.Config{Certificates: donor.TLS.Certificates})
		roots := donor.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		dial = func() (net.Conn, error) {
			return tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "example.com"})
		}
	}
	fates := make(chan string, 10)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			fates <- "asked"
			<-r.Context().Done()
		}
		if r.URL.Path != "/next" {
			end := proc.ConnOf(r).Answer(r.Context(), func(lost bool) {
				if lost {
					fates <- "lost " + r.URL.Path
				}
			})
			_, _ = io.WriteString(w, "the answ")
			end()
		}
		_, _ = io.WriteString(w, "er")
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- proc.ServeHTTP(ctx, silent, served, h, nil, nil) }()
	send := func(path string) (net.Conn, *bufio.Reader) {
		t.Helper()
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		return conn, bufio.NewReader(conn)
	}
	take := func(r *bufio.Reader) {
		t.Helper()
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-fates:
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no %q", want)
		}
	}

	conn, answer := send("/taken")
	take(answer)
	conn.Close()
	conn, answer = send("/next-follows")
	take(answer)
	_, _ = io.WriteString(conn, "GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
	take(answer)
	raw := conn
	if private {
		raw = conn.(*tls.Conn).NetConn()
	}
	_ = raw.(*net.TCPConn).SetLinger(0)
	raw.Close() // is no loss of the answer that was taken

	conn, _ = send("/wait") // goes before there is an answer
	expect("asked")
	conn.Close()
	expect("lost /wait")

	conn, _ = send("/unread") // goes with the answer unread
	raw = conn
	if private {
		raw = conn.(*tls.Conn).NetConn()
	}
	if _, err := io.ReadFull(raw, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = raw.(*net.TCPConn).SetLinger(0) // resets, however much came yet
	raw.Close()
	expect("lost /unread")

	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case fate := <-fates:
		t.Errorf("%q besides", fate)
	default:
	}
}

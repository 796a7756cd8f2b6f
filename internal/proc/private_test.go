package proc_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
)

// Whoever looks whether the port is open could otherwise fill the log.
func TestHandshakesThatFailAreToldToThoseWhoDebug(t *testing.T) {
	t.Parallel()
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		donor := httptest.NewTLSServer(nil) // of its certificate
		defer donor.Close()
		l, err := proc.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		said := &proctest.Log{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			log := slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: level}))
			ended <- proc.ServeHTTP(ctx, log, proc.Private(l, &tls.Config{Certificates: donor.TLS.Certificates}), http.NotFoundHandler(), nil, nil)
		}()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // fails when it is closed, which shows below
		answer := make([]byte, 100)
		n, _ := conn.Read(answer)
		if !strings.Contains(string(answer[:n]), "400") {
			t.Errorf("plain HTTP is answered %q", answer[:n])
		}
		_ = conn.Close() // the server has closed it
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := strings.Contains(said.String(), "TLS handshake error"); got != (level == slog.LevelDebug) || strings.Contains(said.String(), "WARN") {
			t.Errorf("at %s: %s", level, said)
		}
	}
}

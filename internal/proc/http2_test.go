package proc_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tidings/internal/proc"
)

func TestBothVersionsOfHTTPAreServed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	ended := make(chan error, 1)
	go func() {
		ended <- proc.ServeHTTP(ctx, slog.New(slog.DiscardHandler), l, h, nil, nil)
	}()
	for _, want := range []string{"HTTP/1.1", "HTTP/2.0"} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(want == "HTTP/1.1")
		protocols.SetUnencryptedHTTP2(want == "HTTP/2.0")
		transport := &http.Transport{Protocols: protocols}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("got %s %v, want %s", got, err, want)
		}
		transport.CloseIdleConnections()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// While a process drains, what runs over an HTTP/2 connection goes on, and what
// its client sends next comes over another one.
func TestClientsLeaveAConnectionAndWhatRunsOnItGoesOn(t *testing.T) {
	t.Parallel()
	t.Run("in the clear", func(t *testing.T) { t.Parallel(); leave(t, false) })
	t.Run("over TLS", func(t *testing.T) { t.Parallel(); leave(t, true) })
}

func leave(t *testing.T, private bool) {
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols, transport, scheme := new(http.Protocols), new(http.Transport), "http://"
	protocols.SetUnencryptedHTTP2(!private)
	protocols.SetHTTP2(private)
	transport.Protocols = protocols
	if private {
		donor := httptest.NewTLSServer(nil) // of its certificate
		defer donor.Close()
		l = proc.Private(l, &tls.Config{Certificates: donor.TLS.Certificates, NextProtos: []string{"h2"}})
		transport.TLSClientConfig = &tls.Config{RootCAs: donor.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
		scheme = "https://"
	}
	release := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr+"\n")
		if r.URL.Path == "/long" {
			_ = http.NewResponseController(w).Flush()
			<-release
			_, _ = io.WriteString(w, "the end")
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended, drained := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- proc.ServeHTTP(ctx, silent, l, h, proc.NewDrain(nil), func(_ context.Context, goAway func()) {
			goAway()
			goAway() // once is enough
			<-drained
		})
	}()
	client := &http.Client{Transport: transport}
	get := func(path string) (from string, rest io.ReadCloser) {
		t.Helper()
		resp, err := client.Get(scheme + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 0, 64)
		for b := [1]byte{}; b[0] != '\n'; line = append(line, b[0]) {
			if _, err := io.ReadFull(resp.Body, b[:]); err != nil {
				t.Fatal(err)
			}
		}
		return string(line), resp.Body
	}
	first, rest := get("/long")
	defer rest.Close()
	if from, body := get("/"); from != first {
		t.Errorf("came from %s and from %s", first, from)
	} else {
		body.Close()
	}
	cancel()
	deadline := time.Now().Add(10 * time.Second)
	for from := first; from == first; {
		if time.Now().After(deadline) {
			t.Fatal("the client stays on its connection")
		}
		var body io.ReadCloser
		from, body = get("/")
		body.Close()
	}
	close(release)
	if got, err := io.ReadAll(rest); string(got) != "the end" {
		t.Errorf("what ran ended with %q, %v", got, err)
	}
	close(drained)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}

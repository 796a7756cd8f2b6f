package proc_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

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
		ended <- proc.ServeHTTP(ctx, slog.New(slog.DiscardHandler), l, h, func(context.Context) {})
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

package proc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"tidings/internal/proc"
)

func TestAdminTellsLiveFromReady(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- proc.Admin(ctx, silent, l, func() error { return errors.New("the view is still catching up") })
	}()
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/startupz": 503, "/other": 404} {
		status, body := get(t, "http://"+l.Addr().String()+path)
		if status != want || want == 503 && !strings.Contains(body, "catching up") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

package proc_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"tidings/internal/proc"
)

// admin serves the routes and returns the port.
func admin(t *testing.T, routes ...proc.Route) (port string) {
	t.Helper()
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proc.Admin(ctx, silent, l, func() error { return nil }, routes...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestWhatChangesSomethingIsForProgramsOnThisMachineAlone(t *testing.T) {
	t.Parallel()
	did := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	port := admin(t, proc.Route{Pattern: "POST /change", Handler: did}, proc.Route{Pattern: "POST /open", Handler: did, Open: true})
	for _, c := range []struct {
		what, path, host, header string
		want                     int
	}{
		{"a program", "/change", "127.0.0.1:" + port, "", 200},
		{"a program, by name", "/change", "localhost:" + port, "", 200},
		{"a program, by the other version", "/change", "[::1]:" + port, "", 200},
		{"a proxy", "/change", "localhost", "X-Forwarded-For: 192.0.2.1", 403},
		{"a proxy that says nothing of its client", "/change", "localhost", "X-Forwarded-For: ", 403},
		{"a proxy of today", "/change", "localhost", "Forwarded: for=192.0.2.1", 403},
		{"a proxy that says who it is", "/change", "localhost", "Via: 1.1 proxy", 403},
		{"nginx", "/change", "localhost", "X-Real-IP: 192.0.2.1", 403},
		{"a page", "/change", "localhost", "Origin: http://localhost:" + port, 403},
		{"a page without an origin", "/change", "localhost", "Origin: null", 403},
		{"a picture in a page", "/change", "localhost", "Sec-Fetch-Site: cross-site", 403},
		{"a page whose name leads here", "/change", "rebound.example.com:" + port, "", 403},
		{"a proxy, at what is open", "/open", "tidings.example.com", "X-Forwarded-For: 192.0.2.1", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:"+port+c.path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", c.what, resp.Status, c.want)
		}
	}
}

func TestTheAdminPortTakesNoLargeBodies(t *testing.T) {
	t.Parallel()
	port := admin(t, proc.Route{Pattern: "POST /open", Open: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		}
	})})
	resp, err := http.Post("http://127.0.0.1:"+port+"/open", "text/plain", strings.NewReader(strings.Repeat("x", 65<<10)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(resp.Status)
	}
}

func TestEachAnswerOfTheAdminPortIsGuarded(t *testing.T) {
	t.Parallel()
	port := admin(t, proc.NewMetrics().Route())
	for _, path := range []string{"/livez", "/metrics", "/nothing"} {
		resp, err := http.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Server": ""} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

func TestProfilesAreServedToThisMachine(t *testing.T) {
	t.Parallel()
	without, with := admin(t), admin(t, proc.Profiles()...)
	if status, _ := get(t, "http://127.0.0.1:"+without+"/debug/pprof/"); status != 404 {
		t.Errorf("without the setting: %d", status)
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap?debug=1", "/debug/pprof/goroutine?debug=1", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.1"} {
		if status, body := get(t, "http://127.0.0.1:"+with+path); status != 200 || body == "" {
			t.Errorf("%s: %d %.100s", path, status, body)
		}
	}
	if status, _ := get(t, "http://127.0.0.1:"+with+"/debug/pprof/cmdline"); status != 404 {
		t.Errorf("the arguments of the process: %d", status)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+with+"/debug/pprof/heap", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("by a proxy: %s", resp.Status)
	}
}

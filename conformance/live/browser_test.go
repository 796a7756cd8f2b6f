//go:build conformance

package live

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"syscall"
	"testing"
)

// inPage are the clients of page.html.
var inPage = []string{"EventSource", "WebSocket", "graphql-ws", "graphql-sse", "graphql-sse single"}

func TestABrowserMissesNothingWhenProcessesAreKilled(t *testing.T) {
	a := newAudience(inPage...)
	origin := servePage(t, a)
	c := newCluster(t, 3, origin)
	browse(t, origin+"/page.html?"+url.Values{"url": {c.url()}, "token": {token(t, "alice")}}.Encode())
	c.survive(t, a)
}

// servePage serves the page, the libraries that it loads, and what it reports to.
func servePage(t *testing.T, a *audience) (origin string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/page.html", http.FileServer(http.Dir(".")))
	mux.Handle("/full.html", http.FileServer(http.Dir(".")))
	mux.Handle("/graphql-ws/", http.StripPrefix("/graphql-ws/", http.FileServer(http.Dir("node_modules/graphql-ws/dist"))))
	mux.Handle("/graphql-sse/", http.StripPrefix("/graphql-sse/", http.FileServer(http.Dir("node_modules/graphql-sse/lib"))))
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var one report
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Errorf("the page reported %v", err)
		}
		a.take(one)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// browse opens the page in Chromium until the test ends.
func browse(t *testing.T, address string) {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("Chromium is missing: run make clients")
	}
	log := &output{}
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--remote-debugging-port=0", "--enable-logging=stderr", "--user-data-dir="+t.TempDir(), address)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it and the processes that it has started; they may be gone
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Chromium printed\n%s", log.tail())
		}
	})
}

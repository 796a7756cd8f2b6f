package edge

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Each answer says what browsers must not make of it, whoever gives it.
func TestEachAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	s := newService(t, "--dev")
	s.edge.mux.HandleFunc("/panics", func(http.ResponseWriter, *http.Request) { panic("of a test") })
	for _, c := range []struct {
		method, path, body, header string
		cached                     string
	}{
		{"POST", "/graphql", `{"query":"{__typename}"}`, "Accept: application/json", "no-store"},
		{"POST", "/graphql", `{"query":`, "Accept: application/json", "no-store"},
		{"POST", "/graphql", `{"query":"{__typename}"}`, "Authorization: Bearer nonsense", "no-store"},
		{"GET", "/graphql?query={users(first:1){edges{node{id}}}}", "", "Accept: application/json", "public, max-age=0"},
		{"GET", "/graphql", "", "Accept: text/html", "no-cache"},
		{"GET", "/graphql/schema.graphql", "", "Accept: */*", "no-cache"},
		{"GET", "/graphql/resume.js", "", "Accept: */*", "no-cache"},
		{"PUT", "/graphql", "", "Accept: */*", "no-store"},
		{"GET", "/nothing", "", "Accept: */*", "no-store"},
		{"GET", "/v1/SocialService?wsdl", "", "Accept: */*", ""},
		{"POST", "/v1/SocialService", "<x/>", "Content-Type: text/xml", ""},
		{"GET", "/panics", "", "Accept: */*", "no-store"},
	} {
		resp := first(s.call(t, c.method, c.path, c.body, c.header, "Connection: close"))
		h := resp.Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") ||
			h.Get("Server") != "" || h.Get("Strict-Transport-Security") != "" || h.Get("Cache-Control") == "" {
			t.Errorf("%s %s: %d %v", c.method, c.path, resp.StatusCode, h)
		}
		if c.cached != "" && h.Get("Cache-Control") != c.cached {
			t.Errorf("%s %s: %d, Cache-Control: %s, want %s", c.method, c.path, resp.StatusCode, h.Get("Cache-Control"), c.cached)
		}
	}
}

func TestBrowsersAreToldToComeByTLSAlone(t *testing.T) {
	t.Parallel()
	s := newService(t, "--hsts", "8760h")
	told := func(private bool) string {
		r := httptest.NewRequest(http.MethodGet, "/graphql", nil)
		if r.TLS = nil; private {
			r.TLS = new(tls.ConnectionState)
		}
		w := httptest.NewRecorder()
		s.edge.ServeHTTP(w, r)
		return w.Header().Get("Strict-Transport-Security")
	}
	if got := told(true); got != "max-age=31536000" {
		t.Errorf("over TLS: %q", got)
	}
	if got := told(false); got != "" { // which browsers must not believe, and a proxy may pass on
		t.Errorf("in the clear: %q", got)
	}
}

func TestProfilesAreOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want bool
	}{{nil, false}, {[]string{"--pprof"}, true}} {
		s := newService(t, c.args...)
		has := false
		for _, r := range s.edge.rooms.Routes() {
			if strings.Contains(r.Pattern, "pprof") {
				has = true
				if r.Open {
					t.Errorf("%s is open to other machines", r.Pattern)
				}
			}
		}
		if has != c.want {
			t.Errorf("%v: %v", c.args, has)
		}
	}
}

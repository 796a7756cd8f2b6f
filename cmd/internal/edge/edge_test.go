package edge

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidings/cmd/internal/boot"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
)

const secret = "a secret of the tests, 32 bytes long"

// service is the edge of a whole service behind a real server.
type service struct {
	*httptest.Server
	edge *edge
	log  *proctest.Log
}

func newService(t *testing.T, args ...string) *service {
	t.Helper()
	return serviceOf(t, nil, append([]string{"--data", t.TempDir(), "--log-level", "debug", "--max-requests", "-1"}, args...)) // the machine may have other things to do
}

// serviceOf is one with variables and flags of its own.
func serviceOf(t *testing.T, environ, args []string) *service {
	t.Helper()
	base := []string{"--schema", "../../../examples/social", "--admin", "", "--public-url", "http://localhost"}
	c, err := boot.ReadConfig("api", append(base, args...), append([]string{"TIDINGS_JWT_SECRET=" + secret}, environ...), printer(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{log: &proctest.Log{}}
	log, err := proc.Logger(s.log, c.LogLevel, false)
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := boot.Open(t.Context(), c, boot.Role{Edge: true, Writes: true}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.edge, err = newEdge(c, rooms, log); err != nil {
		t.Fatal(err)
	}
	runParts(t, log, rooms)
	s.Server = httptest.NewServer(s.edge)
	t.Cleanup(s.Close)
	return s
}

// runParts runs the parts below the edge until the test ends.
func runParts(t *testing.T, log *slog.Logger, rooms *boot.Rooms) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proc.Run(ctx, log, rooms.Parts()...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := rooms.Started(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// call sends a request with lines of headers, and returns the answer and its body.
func (s *service) call(t *testing.T, method, target, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // no redirects, no cookies
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// entry returns the log's line about a request.
func (s *service) entry(t *testing.T, id string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for ctx.Err() == nil { // it is written when the answer has left
		for line := range strings.SplitSeq(s.log.String(), "\n") {
			var e map[string]any
			if json.Unmarshal([]byte(line), &e) == nil && e["msg"] == "request" && e["request_id"] == id {
				return e
			}
		}
		<-poll.C
	}
	t.Fatalf("the log has no line for %s:\n%s", id, s.log.String())
	return nil
}

func TestEveryRequestHasANameAndALine(t *testing.T) {
	t.Parallel()
	s := newService(t)
	resp, _ := s.call(t, "POST", "/graphql", `{"query":"query Who($id: ID!) { user(id: $id) { name } }","variables":{"id":"hidden-variable"}}`, "X-Request-Id: mine")
	id := resp.Header.Get(graphql.HeaderRequestID)
	if id == "" || id == "mine" {
		t.Fatalf("the request's name is %q", id)
	}
	e := s.entry(t, id)
	if e["op_type"] != "query" || e["op_name"] != "Who" || e["status"] != 200.0 || e["method"] != "POST" || e["took"] == nil || e["level"] != "DEBUG" {
		t.Errorf("%v", e)
	}
	other, _ := s.call(t, "POST", "/graphql", `{"query":"{"}`, "Authorization: Bearer hidden.token.x")
	if next := other.Header.Get(graphql.HeaderRequestID); next == id || next == "" {
		t.Errorf("the next one is called %q", next)
	}
	e = s.entry(t, other.Header.Get(graphql.HeaderRequestID))
	if e["status"] != 401.0 || e["code"] != "UNAUTHENTICATED" {
		t.Errorf("%v", e)
	}
	if strings.Contains(s.log.String(), "hidden") {
		t.Errorf("the log quotes the request:\n%s", s.log.String())
	}
}

func TestARequestIsNamedByATrustedPlaceOnly(t *testing.T) {
	t.Parallel()
	trusted := true
	n := names{prefix: "p-", trusted: func(*http.Request) bool { return trusted }}
	for given, kept := range map[string]bool{
		"abc-123": true, "7b1a:2/x+y=": true, strings.Repeat("x", 128): true,
		"": false, "a b": false, "a\tb": false, `a"b`: false, "ä": false, strings.Repeat("x", 129): false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("X-Request-Id", given)
		if got := n.of(r); (got == given) != kept || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
	trusted = false
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("X-Request-Id", "abc")
	if got := n.of(r); got == "abc" {
		t.Error("a stranger named the request")
	}
}

func TestAProxyNamesRequests(t *testing.T) {
	t.Parallel()
	s := newService(t, "--trusted-proxies", "127.0.0.0/8")
	resp, _ := s.call(t, "POST", "/graphql", `{"query":"{__typename}"}`, "X-Request-Id: from-the-proxy")
	if got := resp.Header.Get(graphql.HeaderRequestID); got != "from-the-proxy" {
		t.Errorf("the request is called %q", got)
	}
	s.entry(t, "from-the-proxy")
}

func TestAPanicIsTheFailureOfItsRequestAlone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.edge.mux.HandleFunc("/before", func(http.ResponseWriter, *http.Request) { panic("hidden cause") })
	s.edge.mux.HandleFunc("/midway", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		panic("hidden cause")
	})
	resp, body := s.call(t, "GET", "/before", "")
	id := resp.Header.Get(graphql.HeaderRequestID)
	if resp.StatusCode != 500 || !strings.Contains(body, `"code":"INTERNAL","requestId":"`+id+`"`) || strings.Contains(body, "hidden") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if e := s.entry(t, id); e["level"] != "INFO" || e["code"] != "INTERNAL" {
		t.Errorf("%v", e)
	}
	if log := s.log.String(); !strings.Contains(log, "hidden cause") || !strings.Contains(log, "edge_test.go") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	r, err := http.Get(s.URL + "/midway")
	if err == nil {
		defer r.Body.Close()
		if _, err = io.ReadAll(r.Body); err == nil {
			t.Error("half an answer looks like a whole one")
		}
	}
	if resp, _ := s.call(t, "POST", "/graphql", `{"query":"{__typename}"}`); resp.StatusCode != 200 {
		t.Errorf("after it: %d", resp.StatusCode)
	}
}

func TestPagesOfOtherOriginsAreOffByDefault(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, resp := range []*http.Response{
		first(s.call(t, "POST", "/graphql", `{"query":"{__typename}"}`, "Origin: https://app.example.com")),
		first(s.call(t, "OPTIONS", "/graphql", "", "Origin: https://app.example.com", "Access-Control-Request-Method: POST")),
	} {
		for name := range resp.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s is there", name)
			}
		}
	}
}

func first(r *http.Response, _ string) *http.Response { return r }

func TestListedOriginsMayCall(t *testing.T) {
	t.Parallel()
	s := newService(t, "--origins", "https://app.example.com, http://localhost:5173")
	resp, _ := s.call(t, "OPTIONS", "/graphql", "", "Origin: https://app.example.com",
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type")
	h := resp.Header
	if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		h.Get("Access-Control-Allow-Methods") != "GET, HEAD, POST, PUT, DELETE" || h.Get("Access-Control-Allow-Headers") != "authorization,content-type" ||
		h.Get("Access-Control-Max-Age") == "" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: %d %v", resp.StatusCode, h)
	}
	resp, body := s.call(t, "POST", "/graphql", `{"query":"{__typename}"}`, "Origin: http://localhost:5173")
	if resp.Header.Get("Access-Control-Allow-Origin") != "http://localhost:5173" || !strings.Contains(resp.Header.Get("Access-Control-Expose-Headers"), graphql.HeaderRequestID) ||
		!strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Origin") || !strings.Contains(body, "Query") {
		t.Errorf("%v %s", resp.Header, body)
	}
	for _, other := range []string{"https://evil.example.com", "https://app.example.com.evil.com", "null", "http://app.example.com"} {
		resp, _ := s.call(t, "OPTIONS", "/graphql", "", "Origin: "+other, "Access-Control-Request-Method: POST")
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "" || !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Origin") {
			t.Errorf("%s: %q, %v", other, got, resp.Header)
		}
	}
	resp, _ = s.call(t, "GET", "/graphql?query=subscription{count(target:1)}", "", "Accept: text/event-stream", "Origin: https://app.example.com")
	if resp.Header.Get("Access-Control-Allow-Origin") == "" || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("an event stream: %v", resp.Header)
	}
	resp, _ = s.call(t, "POST", "/graphql", `{}`, "Origin: https://app.example.com", "Authorization: Bearer x")
	if resp.StatusCode != 401 || resp.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a refusal that the page cannot read: %d %v", resp.StatusCode, resp.Header)
	}
}

func TestAnyOriginMayBeAllowed(t *testing.T) {
	t.Parallel()
	s := newService(t, "--origins", "*")
	resp, _ := s.call(t, "POST", "/graphql", `{"query":"{__typename}"}`, "Origin: https://anywhere.example")
	if resp.Header.Get("Access-Control-Allow-Origin") != "*" || strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Origin") {
		t.Errorf("%v", resp.Header)
	}
}

const browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

func TestThereIsNoPageInProduction(t *testing.T) {
	t.Parallel()
	s := newService(t)
	resp, body := s.call(t, "GET", "/graphql", "", browser)
	if resp.StatusCode != 404 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") || !strings.Contains(body, "--dev") || strings.Contains(body, "<") {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
}

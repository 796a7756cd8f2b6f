package realtime_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/r3labs/sse/v2"

	"tidings/bus/bustest"
	"tidings/realtime"
)

// serveMany serves hubs that share a bus, each with an engine of its own.
func serveMany(t *testing.T, n int, o realtime.Options) []fixture {
	t.Helper()
	o.Bus = bustest.New(t)
	list := make([]fixture, n)
	for i := range list {
		list[i] = serve(t, o)
	}
	return list
}

// caller sends requests in single connection mode.
type caller struct {
	t      testing.TB
	token  string
	header http.Header
}

func as(t testing.TB, subject string) *caller {
	c := &caller{t: t, header: http.Header{}}
	if subject != "" {
		c.header.Set("Authorization", "Bearer "+token(t, subject, time.Hour))
	}
	return c
}

func (c *caller) do(method, url, body string, header http.Header) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = header.Clone()
	if c.token != "" {
		r.Header.Set("X-GraphQL-Event-Stream-Token", c.token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (c *caller) expect(status int, resp *http.Response) string {
	c.t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		c.t.Fatalf("got %s %s %v, want %d", resp.Status, body, err, status)
	}
	if status >= 400 && object(c.t, body)["errors"] == nil {
		c.t.Errorf("%d without errors: %s", status, body)
	}
	return string(body)
}

// reserve reserves a stream.
func (c *caller) reserve(url string) *caller {
	c.t.Helper()
	c.token = c.expect(201, c.do(http.MethodPut, url, "", c.header))
	if len(c.token) < 22 {
		c.t.Fatalf("the token is %q", c.token)
	}
	return c
}

// open opens the reserved stream by its token, as EventSource does.
func (c *caller) open(url string) *events {
	c.t.Helper()
	e := get(c.t, url, nil, "token", c.token)
	if e.resp.StatusCode != 200 {
		body, _ := io.ReadAll(e.resp.Body)
		c.t.Fatalf("opening gave %s %s", e.resp.Status, body)
	}
	return e
}

func (c *caller) post(url, id, query string) *http.Response {
	c.t.Helper()
	return c.do(http.MethodPost, url, fmt.Sprintf(`{"query":%q,"extensions":{"operationId":%q}}`, query, id), c.header)
}

func (c *caller) stop(url, id string) *http.Response {
	c.t.Helper()
	return c.do(http.MethodDelete, url+"?operationId="+id, "", c.header)
}

func result(id, payload string) string { return fmt.Sprintf(`{"id":%q,"payload":%s}`, id, payload) }

func ended(id string) string { return fmt.Sprintf(`{"id":%q}`, id) }

func TestOneStreamCarriesTheResultsOfManyRequests(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := as(t, "alice").reserve(f.url)
	e := c.open(f.url)
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := e.resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if body := c.expect(202, c.post(f.url, "a", "subscription ticks")); body != "" {
		t.Errorf("accepted with %q", body)
	}
	c.expect(202, c.post(f.url, "b", "query who"))
	e.expect("next", "", result("b", `{"data":{"who":"alice"}}`))
	e.expect("complete", "", ended("b"))
	c.expect(202, c.post(f.url, "c", "mutation set"))
	e.expect("next", "", result("c", `{"data":{"set":true}}`))
	e.expect("complete", "", ended("c"))
	eventually(t, "it subscribes", func() bool { return f.engine.subscribers() == 1 })
	f.engine.emit("")
	e.expect("next", "", result("a", tick(1, "")))
	c.expect(202, c.do(http.MethodPost, f.url, `{"query":"subscription ticks","extensions":{"operationId":"d","cursor":"0"}}`, c.header))
	e.expect("next", "", result("d", tick(1, "")))
	c.expect(202, c.post(f.url, "e", "subscription breaks"))
	e.expect("next", "", result("e", `{"errors":[{"message":"broken"}]}`))
	e.expect("complete", "", ended("e"))
	c.expect(202, c.post(f.url, "f", "subscription unknown"))
	e.expect("next", "", result("f", `{"errors":[{"message":"no such subscription","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`))
	e.expect("complete", "", ended("f"))
	c.expect(202, c.post(f.url, "g", "query lines"))
	e.expect("next", "", "{\"id\":\"g\",\"payload\":{\n\"data\":\n{}}}")
	e.expect("complete", "", ended("g"))
	c.expect(202, c.do(http.MethodGet, f.url+"?query=query+who&extensions=%7B%22operationId%22%3A%22h%22%7D", "", c.header))
	e.expect("next", "", result("h", `{"data":{"who":"alice"}}`))
	e.expect("complete", "", ended("h"))

	c.expect(200, c.stop(f.url, "a"))
	c.expect(200, c.stop(f.url, "a")) // both ends may end it at the same time
	<-f.engine.stopped
	f.engine.emit("")
	e.expect("next", "", result("d", tick(2, "")))
	e.resp.Body.Close()
	<-f.engine.stopped
	eventually(t, "nothing is left", func() bool {
		s := f.hub.Stats()
		return s.Operations+s.Streams+s.Reserved == 0
	})
	c.expect(404, c.post(f.url, "i", "query who"))
}

func TestEachRequestMayReachAnotherProcess(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 3, realtime.Options{})
	c := as(t, "alice").reserve(f[0].url)
	e := c.open(f[1].url)
	c.expect(202, c.post(f[2].url, "a", "subscription ticks"))
	c.expect(202, c.post(f[0].url, "b", "query who"))
	e.expect("next", "", result("b", `{"data":{"who":"alice"}}`))
	e.expect("complete", "", ended("b"))
	eventually(t, "it subscribes where the stream is", func() bool { return f[1].engine.subscribers() == 1 })
	f[1].engine.emit("")
	e.expect("next", "", result("a", tick(1, "")))
	c.expect(409, c.post(f[2].url, "a", "query who"))
	c.expect(409, c.do(http.MethodGet, f[2].url, "", http.Header{"Accept": {"text/event-stream"}}))
	c.expect(403, as(t, "bob").with(c.token).post(f[2].url, "x", "query who"))
	c.expect(200, c.stop(f[2].url, "a"))
	<-f[1].engine.stopped
	e.resp.Body.Close()
	eventually(t, "nothing is left anywhere", func() bool {
		for _, f := range f {
			if s := f.hub.Stats(); s.Operations+s.Streams+s.Reserved != 0 {
				return false
			}
		}
		return true
	})
	c.expect(404, c.post(f[2].url, "b", "query who"))
}

func (c *caller) with(token string) *caller {
	c.token = token
	return c
}

func TestOperationsThatComeBeforeTheStreamIsOpenBeginWhenItIs(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 2, realtime.Options{})
	for _, at := range f { // where it was reserved, and elsewhere
		c := as(t, "alice").reserve(f[0].url)
		c.expect(202, c.post(f[1].url, "a", "query who"))
		c.expect(202, c.post(f[0].url, "b", "subscription ticks"))
		c.expect(409, c.post(f[1].url, "b", "subscription ticks"))
		c.expect(202, c.post(f[0].url, "c", "query block"))
		c.expect(200, c.stop(f[1].url, "c"))
		c.expect(413, c.post(f[1].url, "d", "query "+strings.Repeat("x", 300<<10)))
		e := c.open(at.url)
		e.expect("next", "", result("a", `{"data":{"who":"alice"}}`))
		e.expect("complete", "", ended("a"))
		eventually(t, "it subscribes", func() bool { return at.engine.subscribers() == 1 })
		e.resp.Body.Close()
		<-at.engine.stopped
	}
}

func TestAReservedStreamIsItsCallersAlone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		f := serveMany(t, n, realtime.Options{})
		home, other := f[0], f[n-1]
		c := as(t, "alice").reserve(home.url)
		for _, stranger := range []*caller{as(t, "bob").with(c.token), as(t, "").with(c.token)} {
			c.expect(403, stranger.post(other.url, "a", "query who"))
			c.expect(403, stranger.stop(other.url, "a"))
		}
		bob := as(t, "bob").with(c.token)
		bob.header.Set("Accept", "text/event-stream")
		c.expect(403, bob.do(http.MethodGet, other.url, "", bob.header))
		e := c.open(other.url) // by the token alone
		c.expect(403, as(t, "bob").with(c.token).post(home.url, "a", "query who"))
		c.expect(202, c.post(home.url, "a", "query who"))
		e.expect("next", "", result("a", `{"data":{"who":"alice"}}`))

		anonymous := as(t, "").reserve(home.url)
		c.expect(403, as(t, "bob").with(anonymous.token).post(other.url, "a", "query who"))
		e = anonymous.open(other.url)
		c.expect(202, anonymous.post(other.url, "a", "query who"))
		e.expect("next", "", result("a", `{"data":{"who":""}}`))
	}
}

func TestRequestsToAStreamAreRefused(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxMessage: 1 << 10, MaxOperations: 2})
	c := as(t, "alice").reserve(f.url)
	c.open(f.url)
	c.expect(202, c.post(f.url, "taken", "subscription ticks"))
	none := strings.Repeat("A", 26)
	jsonBody := http.Header{"Content-Type": {"application/json"}}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	wrong := http.Header{"Authorization": {"Bearer wrong"}}
	const op = `"extensions":{"operationId":"a"}}`
	cases := []struct {
		name, method, query, body, token string
		header                           http.Header
		status                           int
	}{
		{"no such stream", "POST", "", `{"query":"query who",` + op, none, jsonBody, 404},
		{"no such stream, in the URL", "POST", "?token=" + none, `{"query":"query who",` + op, "", jsonBody, 404},
		{"a token of another form", "POST", "", `{"query":"query who",` + op, "x.*.>", jsonBody, 404},
		{"no such stream to open", "GET", "?token=" + none, "", "", http.Header{"Accept": {"text/event-stream"}}, 404},
		{"no such stream to stop at", "DELETE", "?operationId=a", "", none, nil, 404},
		{"open already", "GET", "", "", c.token, http.Header{"Accept": {"text/event-stream"}}, 409},
		{"open already, by POST", "POST", "", `{}`, c.token, http.Header{"Accept": {"text/event-stream"}}, 409},
		{"id in use", "POST", "", `{"query":"query who","extensions":{"operationId":"taken"}}`, c.token, jsonBody, 409},
		{"no id", "POST", "", `{"query":"query who"}`, c.token, jsonBody, 400},
		{"empty id", "POST", "", `{"query":"query who","extensions":{"operationId":""}}`, c.token, jsonBody, 400},
		{"id is no string", "POST", "", `{"query":"query who","extensions":{"operationId":1}}`, c.token, jsonBody, 400},
		{"endless id", "POST", "", `{"query":"query who","extensions":{"operationId":"` + strings.Repeat("x", 300) + `"}}`, c.token, jsonBody, 400},
		{"no id to stop", "DELETE", "", "", c.token, nil, 400},
		{"not GraphQL", "POST", "", `{"query":"{",` + op, c.token, jsonBody, 400},
		{"not JSON", "POST", "", `{`, c.token, jsonBody, 400},
		{"no query", "POST", "", `{` + op, c.token, jsonBody, 400},
		{"a form", "POST", "", `query=x`, c.token, form, 415},
		{"too large", "POST", "", `{"query":"` + strings.Repeat("x", 2<<10) + `",` + op, c.token, jsonBody, 413},
		{"mutation by GET", "GET", "?query=mutation+set&extensions=%7B%22operationId%22%3A%22a%22%7D", "", c.token, nil, 405},
		{"wrong credentials", "POST", "", `{"query":"query who",` + op, c.token, wrong, 401},
		{"wrong credentials for a reservation", "PUT", "", "", "", wrong, 401},
		{"used up", "POST", "", `{"query":"limited",` + op, c.token, jsonBody, 429},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			h := c.header.Clone()
			for name, values := range x.header {
				h[name] = values
			}
			sender := &caller{t: t, token: x.token, header: h}
			r, _ := http.NewRequestWithContext(t.Context(), x.method, f.url+x.query, strings.NewReader(x.body))
			r.Header = h
			if x.token != "" {
				r.Header.Set("X-GraphQL-Event-Stream-Token", x.token)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			sender.expect(x.status, resp)
		})
	}
	t.Run("too many operations", func(t *testing.T) {
		c.expect(202, c.post(f.url, "second", "subscription ticks"))
		resp := c.post(f.url, "third", "subscription ticks")
		if c.expect(429, resp); resp.Header.Get("Retry-After") == "" {
			t.Error("429 does not say when to come again")
		}
	})
}

func TestARequestWithoutAStreamIsNotTheHubs(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := as(t, "")
	for _, resp := range []*http.Response{
		c.do(http.MethodDelete, f.url+"?operationId=a", "", c.header),
		c.do(http.MethodPost, f.url, `{"query":"query who"}`, c.header),
		c.do(http.MethodPost, f.url+"?token=some.web.token", `{"query":"query who"}`, c.header),
	} {
		if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "404 page not found") {
			t.Errorf("got %s", body)
		}
	}
}

func TestAReservationEndsWhenNobodyComesForIt(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 2, realtime.Options{Reserved: 50 * time.Millisecond, MaxPerCaller: 1})
	c := as(t, "alice").reserve(f[0].url)
	eventually(t, "it is forgotten", func() bool { return f[0].hub.Stats().Reserved == 0 })
	for _, at := range f {
		c.expect(404, c.post(at.url, "a", "query who"))
		c.expect(404, c.do(http.MethodGet, at.url, "", http.Header{"Accept": {"text/event-stream"}}))
	}
	c.with("").reserve(f[0].url) // it does not count as a connection any more
}

func TestReservationsCountAsConnectionsOfTheirCaller(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 2, realtime.Options{MaxPerCaller: 1})
	c := as(t, "alice").reserve(f[0].url)
	c.expect(429, as(t, "alice").do(http.MethodPut, f[0].url, "", c.header))
	e := c.open(f[1].url) // which takes it to another process
	as(t, "alice").reserve(f[0].url)
	c.expect(429, as(t, "alice").do(http.MethodPut, f[1].url, "", c.header))
	e.resp.Body.Close()
	eventually(t, "the stream is gone", func() bool { return f[1].hub.Stats().Reserved == 0 })
	as(t, "alice").reserve(f[1].url)
}

func TestTheProcessWithTheStreamMayBeGone(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 2, realtime.Options{})
	c := as(t, "alice").reserve(f[0].url)
	c.open(f[0].url)
	other := as(t, "alice").reserve(f[0].url)
	if err := f[0].hub.Close(); err != nil {
		t.Fatal(err)
	}
	c.expect(404, c.post(f[1].url, "a", "query who"))
	c.expect(404, other.do(http.MethodGet, f[1].url, "", http.Header{"Accept": {"text/event-stream"}}))
	c.expect(503, as(t, "alice").do(http.MethodPut, f[0].url, "", c.header))
}

func TestAStreamOfManyOperationsDrains(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 2, realtime.Options{DrainWindow: time.Millisecond})
	c := as(t, "alice").reserve(f[0].url)
	e := c.open(f[0].url)
	c.expect(202, c.post(f[1].url, "a", "subscription ticks"))
	c.expect(202, c.post(f[1].url, "b", "mutation slow"))
	<-f[0].engine.blocked
	eventually(t, "it subscribes", func() bool { return f[0].engine.subscribers() == 1 })
	f[0].engine.emit("")
	drained := make(chan error, 1)
	go func() { drained <- f[0].hub.Drain(t.Context()) }()
	e.expect("next", "", result("a", tick(1, "")))
	eventually(t, "it takes nothing more", func() bool {
		resp := c.post(f[1].url, "late", "query who")
		return resp.StatusCode == 503 && resp.Header.Get("Retry-After") != ""
	})
	close(f[0].engine.release)
	for {
		ev, err := e.next()
		if err != nil {
			t.Fatal(err)
		}
		if ev.data == result("b", `{"data":{"slow":true}}`) {
			break
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestAStreamOfManyOperationsEndsWithTheCredentialsOfOne(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := as(t, "alice").reserve(f.url)
	e := c.open(f.url)
	c.header.Set("Authorization", "Bearer "+token(t, "alice", 2*time.Second))
	c.expect(202, c.post(f.url, "a", "subscription ticks"))
	e.expectEnd() // without complete
	<-f.engine.stopped
}

func TestASlowStreamOfManyOperationsEnds(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxQueue: 64 << 10})
	c := as(t, "").reserve(f.url)
	c.open(f.url)
	for _, id := range []string{"a", "b"} {
		c.expect(202, c.post(f.url, id, "subscription ticks"))
	}
	eventually(t, "they subscribe", func() bool { return f.engine.subscribers() == 2 })
	filler := strings.Repeat("x", 32<<10)
	for f.hub.Stats().Overflowed == 0 {
		f.engine.emit(filler)
	}
	eventually(t, "nobody is sent to any more", func() bool {
		f.engine.emit(filler)
		return f.engine.subscribers() == 0
	})
}

// The claims on the bus are those of a process that has authenticated; what is
// no errand is refused.
func TestWhatIsNoErrandIsRefusedOnTheBus(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	f := serve(t, realtime.Options{Bus: b})
	c := as(t, "alice").reserve(f.url)
	name := b.Subjects().Events(realtime.NameOf(c.token))
	for _, data := range []string{``, `[]`, `{}`, `{"do":"start"}`, `{"do":"stop"}`, `{"do":"start","order":{"id":""}}`} {
		if _, err := b.Reach(t.Context(), name, []byte(data)); err == nil || !strings.Contains(err.Error(), "BAD_REQUEST") {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func TestAStreamOfManyOperationsOverHTTP2(t *testing.T) {
	t.Parallel()
	hub := newHub(t, newScripted(), realtime.Options{})
	srv := httptest.NewUnstartedServer(hub.Wrap(http.NotFoundHandler()))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	send := func(method, url, body string, header ...string) *http.Response {
		r, _ := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.ProtoMajor != 2 {
			t.Fatalf("spoke %s", resp.Proto)
		}
		return resp
	}
	name, _ := io.ReadAll(send("PUT", srv.URL, "").Body)
	e := &events{t: t, r: sse.NewEventStreamReader(send("GET", srv.URL+"?token="+string(name), "", "Accept", "text/event-stream").Body, 1<<20)}
	body, _ := json.Marshal(map[string]any{"query": "query who", "extensions": map[string]string{"operationId": "a"}})
	if resp := send("POST", srv.URL+"?token="+string(name), string(body), "Content-Type", "application/json"); resp.StatusCode != 202 {
		t.Fatal(resp.Status)
	}
	e.expect("next", "", result("a", `{"data":{"who":""}}`))
}

// npm's graphql-sse keeps the token of a stream that is gone among its headers,
// and sends it when it reserves the next.
func TestWhoComesBackWithTheTokenOfAStreamThatIsGoneGetsAnother(t *testing.T) {
	t.Parallel()
	list := serveMany(t, 2, realtime.Options{})
	c := as(t, "ada").reserve(list[0].url)
	e := c.open(list[0].url)
	if err := list[0].hub.Close(); err != nil {
		t.Fatal(err)
	}
	e.expectEnd()
	old := c.token
	if c.reserve(list[1].url); c.token == old {
		t.Fatal("the token is the same")
	}
	c.open(list[1].url)
	c.expect(202, c.post(list[1].url, "1", "query who"))
}

// It does so too right after it has let its stream go, which the service may not
// know yet.
func TestWhoComesBackWithTheTokenOfAStreamThatIsOpenGetsAnother(t *testing.T) {
	t.Parallel()
	list := serveMany(t, 2, realtime.Options{})
	c := as(t, "ada").reserve(list[0].url)
	c.open(list[0].url)
	for _, f := range list {
		old := c.token
		if c.reserve(f.url); c.token == old {
			t.Fatal("the token is the same")
		}
		c.open(list[0].url)
		c.expect(202, c.post(list[1].url, "1", "query who"))
	}
}

func TestThereIsNothingToRenewWhereThereIsNoStream(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 1, realtime.Options{})[0]
	c := as(t, "ada").reserve(f.url)
	e := c.open(f.url)
	c.expect(204, c.renew(f.url))
	e.resp.Body.Close()
	eventually(t, "the stream is gone", func() bool { return f.hub.Stats().Streams == 0 })
	c.expect(404, c.renew(f.url))
}

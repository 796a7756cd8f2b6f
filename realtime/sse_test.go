package realtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/r3labs/sse/v2"

	"tidings/realtime"
)

// event is one event as an EventSource would dispatch it.
type event struct{ name, id, data string }

// events reads a stream with a foreign reader.
type events struct {
	t    testing.TB
	resp *http.Response
	r    *sse.EventStreamReader
}

func open(t testing.TB, method, url, body string, header http.Header) *events {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, header)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &events{t: t, resp: resp, r: sse.NewEventStreamReader(resp.Body, 4<<20)}
}

func post(t testing.TB, url, query string, header http.Header) *events {
	t.Helper()
	return open(t, http.MethodPost, url, fmt.Sprintf(`{"query":%q}`, query), header)
}

func get(t testing.TB, base string, header http.Header, pairs ...string) *events {
	t.Helper()
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return open(t, http.MethodGet, base+"?"+q.Encode(), "", header)
}

// block returns the next block of lines, comments and retry included.
func (e *events) block() (string, error) {
	b, err := e.r.ReadEvent()
	return string(b), err
}

// next returns the next event that has a data field, at the end io.EOF.
func (e *events) next() (event, error) {
	for {
		block, err := e.block()
		if err != nil {
			return event{}, err
		}
		var ev event
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "event":
				ev.name = value
			case "id":
				ev.id = value
			case "data":
				data = append(data, value)
			}
		}
		if data != nil {
			ev.data = strings.Join(data, "\n")
			return ev, nil
		}
	}
}

func (e *events) expect(name, id, data string) {
	e.t.Helper()
	got, err := e.next()
	if want := (event{name, id, data}); err != nil || got != want {
		e.t.Fatalf("got %+v %v, want %+v", got, err, want)
	}
}

func (e *events) expectEnd() {
	e.t.Helper()
	if got, err := e.next(); !errors.Is(err, io.EOF) {
		e.t.Fatalf("got %+v %v, want the end", got, err)
	}
}

func tick(n int, filler string) string {
	return fmt.Sprintf(`{"data":%d,"extensions":{"cursor":"%d"},"filler":"%s"}`, n, n, filler)
}

func TestStreamCarriesEveryKindOfOperation(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	cases := []struct{ name, query, data string }{
		{"query", "query who", `{"data":{"who":""}}`},
		{"mutation", "mutation set", `{"data":{"set":true}}`},
		{"parse error", "{", `{"errors":[{"message":"unexpected {","extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}`},
		{"validation error", "subscription x", `{"errors":[{"message":"no such subscription","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`},
		{"source error", "subscription breaks", `{"errors":[{"message":"broken"}]}`},
		{"line breaks in the payload", "query lines", "{\n\"data\":\n{}}"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := post(t, f.url, c.query, nil)
			e.expect("next", "", c.data)
			e.expect("complete", "", "")
			e.expectEnd()
		})
	}
	e := post(t, f.url, "subscription ends", nil)
	e.expect("next", "1", `{"data":1}`)
	e.expect("complete", "", "")
	e.expectEnd()
}

func TestStreamHeadersKeepProxiesFromBuffering(t *testing.T) {
	t.Parallel()
	e := post(t, serve(t, realtime.Options{}).url, "subscription ticks", nil)
	for name, want := range map[string]string{
		"Content-Type":      "text/event-stream; charset=utf-8",
		"Cache-Control":     "no-store",
		"X-Accel-Buffering": "no",
	} {
		if got := e.resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if block, err := e.block(); err != nil || block != "retry: 1000" {
		t.Errorf("the stream begins with %q %v", block, err)
	}
}

func TestStreamByGet(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	e := get(t, f.url, nil, "query", "query variables", "variables", `{"v":1}`, "operationName", "x", "extensions", `{"a":1}`)
	e.expect("next", "", `{"data":{"variables":{"v":1},"name":"x"}}`)
	e.expect("complete", "", "")

	e = get(t, f.url, nil, "query", "mutation set")
	e.expect("next", "", `{"errors":[{"message":"a GET does not mutate; use POST","extensions":{"code":"BAD_REQUEST"}}]}`)
	e.expect("complete", "", "")

	e = get(t, f.url, http.Header{"Authorization": {"Bearer " + token(t, "alice", time.Hour)}}, "query", "query who")
	e.expect("next", "", `{"data":{"who":"alice"}}`)
}

func TestStreamResumesByCursor(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	for range 4 {
		f.engine.emit("")
	}
	const ticks = "subscription ticks"
	cases := []struct {
		name  string
		open  func(t *testing.T) *events
		first int
	}{
		{"header", func(t *testing.T) *events { return post(t, f.url, ticks, http.Header{"Last-Event-Id": {"2"}}) }, 3},
		{"parameter", func(t *testing.T) *events { return get(t, f.url, nil, "query", ticks, "lastEventId", "1") }, 2},
		{"header over parameter", func(t *testing.T) *events {
			return get(t, f.url, http.Header{"Last-Event-Id": {"3"}}, "query", ticks, "lastEventId", "1")
		}, 4},
		{"extension", func(t *testing.T) *events {
			return open(t, http.MethodPost, f.url, `{"query":"subscription ticks","extensions":{"cursor":"2"}}`, nil)
		}, 3},
		{"extension by GET", func(t *testing.T) *events {
			return get(t, f.url, nil, "query", ticks, "extensions", `{"cursor":"2"}`)
		}, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := c.open(t)
			for n := c.first; n <= 4; n++ {
				e.expect("next", fmt.Sprint(n), tick(n, ""))
			}
		})
	}
}

func TestStreamRequestIsRefused(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxMessage: 1 << 10})
	alice := token(t, "alice", time.Hour)
	jsonType, form := "application/json", "application/x-www-form-urlencoded"
	cases := []struct {
		name, method, query, contentType, body, authorization string
		status                                                int
	}{
		{"method", "PATCH", "", jsonType, `{"query":"query who"}`, "", 405},
		{"form", "POST", "", form, "query=query+who", "", 415},
		{"text", "POST", "", "text/plain", `{"query":"query who"}`, "", 415},
		{"no content type", "POST", "", "", `{"query":"query who"}`, "", 415},
		{"not JSON", "POST", "", jsonType, `{`, "", 400},
		{"array", "POST", "", jsonType, `[{"query":"query who"}]`, "", 400},
		{"no query", "POST", "", jsonType, `{}`, "", 400},
		{"variables", "POST", "", jsonType, `{"query":"query who","variables":[]}`, "", 400},
		{"too large", "POST", "", jsonType, `{"query":"` + strings.Repeat("x", 1<<10) + `"}`, "", 413},
		{"no query in the URL", "GET", "?operationName=x", "", "", "", 400},
		{"variables in the URL", "GET", "?query=query+who&variables=x", "", "", "", 400},
		{"variables in the URL are no object", "GET", "?query=query+who&variables=1", "", "", "", 400},
		{"token in the URL", "GET", "?query=query+who&token=" + alice, "", "", "", 400},
		{"authToken in the URL", "GET", "?query=query+who&authToken=" + alice, "", "", "", 400},
		{"wrong token", "GET", "?query=query+who", "", "", "Bearer wrong", 401},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Content-Type": {c.contentType}}
			if c.authorization != "" {
				h.Set("Authorization", c.authorization)
			}
			e := open(t, c.method, f.url+c.query, c.body, h)
			body, _ := io.ReadAll(e.resp.Body)
			if e.resp.StatusCode != c.status || object(t, body)["errors"] == nil || bytes.Contains(body, []byte(alice)) {
				t.Fatalf("got %d %s, want %d and errors", e.resp.StatusCode, body, c.status)
			}
		})
	}
}

func TestIdleStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{KeepAlive: 10 * time.Millisecond})
	e := post(t, f.url, "subscription ticks", nil)
	if block, err := e.block(); err != nil || block != "retry: 1000" {
		t.Fatalf("got %q %v", block, err)
	}
	for range 3 {
		if block, err := e.block(); err != nil || block != ":" {
			t.Fatalf("got %q %v, want a comment", block, err)
		}
	}
	f.engine.emit("")
	e.expect("next", "1", tick(1, ""))
}

func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	e := post(t, f.url, "subscription ticks", http.Header{"Authorization": {"Bearer " + token(t, "alice", 2*time.Second)}})
	e.expectEnd() // without complete
	<-f.engine.stopped
}

func TestLeavingAStreamEndsItsOperation(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	ticks, block := post(t, f.url, "subscription ticks", nil), post(t, f.url, "query block", nil)
	<-f.engine.blocked
	eventually(t, "it subscribes", func() bool { return f.engine.subscribers() == 1 })
	ticks.resp.Body.Close()
	block.resp.Body.Close()
	<-f.engine.stopped
	eventually(t, "nothing is left", func() bool {
		s := f.hub.Stats()
		return s.Operations == 0 && s.Streams == 0
	})
}

func TestSlowStreamEndsAndResumes(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxQueue: 64 << 10})
	slow := post(t, f.url, "subscription ticks", nil)
	eventually(t, "it subscribes", func() bool { return f.engine.subscribers() == 1 })
	filler := strings.Repeat("x", 32<<10)
	all := 0
	for ; f.hub.Stats().Overflowed == 0; all++ {
		f.engine.emit(filler)
	}
	for last := 0; last < all; { // each attempt gets on by at least one
		before := last
		for {
			ev, err := slow.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if last++; err != nil || ev.id != fmt.Sprint(last) {
				t.Fatalf("event %d: got %v %v", last, ev.id, err)
			}
			if last == all {
				return
			}
		}
		if last == before {
			t.Fatal("an attempt brought nothing")
		}
		slow = post(t, f.url, "subscription ticks", http.Header{"Last-Event-Id": {fmt.Sprint(last)}})
	}
}

// An http.Server's time-outs are for requests; a stream outlives them.
func TestStreamOutlivesTheServersTimeouts(t *testing.T) {
	t.Parallel()
	e := newScripted()
	hub := newHub(t, e, realtime.Options{KeepAlive: 20 * time.Millisecond})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(hub.SSE))
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	stream := post(t, srv.URL, "subscription ticks", nil)
	for range 20 {
		if _, err := stream.block(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamOverHTTP2(t *testing.T) {
	t.Parallel()
	e := newScripted()
	hub := newHub(t, e, realtime.Options{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(hub.SSE))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"?query=subscription+ticks", nil)
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	eventually(t, "it subscribes", func() bool { return e.subscribers() == 1 })
	e.emit("")
	stream := &events{t: t, resp: resp, r: sse.NewEventStreamReader(resp.Body, 1<<20)}
	if resp.ProtoMajor != 2 {
		t.Fatalf("spoke %s", resp.Proto)
	}
	stream.expect("next", "1", tick(1, ""))
	cancel()
	<-e.stopped
}

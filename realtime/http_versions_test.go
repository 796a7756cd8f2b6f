package realtime_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/r3labs/sse/v2"

	"tidings/realtime"
)

// versions are the ways in which HTTP comes: as it is, over TLS, and as HTTP/2
// over TLS and in the clear, as proxies speak it.
var versions = []struct {
	name  string
	major int
	tls   bool
}{{"HTTP/1.1", 1, false}, {"HTTP/1.1 over TLS", 1, true}, {"HTTP/2 over TLS", 2, true}, {"HTTP/2 in the clear", 2, false}}

// eachVersion serves a hub over each and hands f a client that speaks it.
func eachVersion(t *testing.T, o realtime.Options, f func(t *testing.T, f fixture, client *http.Client)) {
	for _, v := range versions {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			e := newScripted()
			hub := newHub(t, e, o)
			protocols := new(http.Protocols)
			protocols.SetHTTP1(v.major == 1)
			protocols.SetHTTP2(v.major == 2)
			protocols.SetUnencryptedHTTP2(v.major == 2 && !v.tls)
			srv := httptest.NewUnstartedServer(hub.Wrap(http.NotFoundHandler()))
			srv.Config.Protocols = protocols
			srv.EnableHTTP2 = v.major == 2
			if v.tls {
				srv.StartTLS()
			} else {
				srv.Start()
			}
			t.Cleanup(srv.Close)
			t.Cleanup(func() { _ = hub.Close() })
			client := srv.Client()
			transport := client.Transport.(*http.Transport)
			transport.Protocols = protocols
			f(t, fixture{engine: e, hub: hub, url: srv.URL}, client)
		})
	}
}

func openWith(t *testing.T, client *http.Client, method, url string, header http.Header) *events {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &events{t: t, resp: resp, r: sse.NewEventStreamReader(resp.Body, 1<<20)}
}

func TestStreamsOverEachVersionOfHTTP(t *testing.T) {
	t.Parallel()
	eachVersion(t, realtime.Options{}, func(t *testing.T, f fixture, client *http.Client) {
		e := openWith(t, client, http.MethodGet, f.url+"?query=subscription+ticks", http.Header{"Accept": {"text/event-stream"}})
		eventually(t, "it subscribes", func() bool { return f.engine.subscribers() == 1 })
		f.engine.emit("")
		e.expect("next", "1", tick(1, ""))
		f.engine.emit("")
		again := openWith(t, client, http.MethodGet, f.url+"?query=subscription+ticks", http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {"1"}})
		again.expect("next", "2", tick(2, ""))
		again.resp.Body.Close()
		<-f.engine.stopped
		f.engine.emit("")
		e.expect("next", "2", tick(2, ""))
		e.expect("next", "3", tick(3, ""))
	})
}

// A deadline is for a write: over HTTP/2 one that passes ends the stream, also
// while nothing is written.
func TestAnIdleStreamOutlivesTheTimeOfAWrite(t *testing.T) {
	t.Parallel()
	o := realtime.Options{WriteTimeout: 300 * time.Millisecond, KeepAlive: 700 * time.Millisecond}
	eachVersion(t, o, func(t *testing.T, f fixture, client *http.Client) {
		e := openWith(t, client, http.MethodGet, f.url+"?query=subscription+ticks", http.Header{"Accept": {"text/event-stream"}})
		for range 3 { // retry, and two comments
			if _, err := e.block(); err != nil {
				t.Fatal(err)
			}
		}
		f.engine.emit("")
		e.expect("next", "1", tick(1, ""))
	})
}

// Each stream ends behind what waits for it, by when to come back, and is not
// completed; its last event is where it goes on.
func TestStreamsAreLetGoOverEachVersionOfHTTP(t *testing.T) {
	t.Parallel()
	const many, each = 8, 20
	eachVersion(t, realtime.Options{DrainWindow: 50 * time.Millisecond}, func(t *testing.T, f fixture, client *http.Client) {
		var streams []*events
		for range many {
			streams = append(streams, openWith(t, client, http.MethodGet, f.url+"?query=subscription+ticks", http.Header{"Accept": {"text/event-stream"}}))
		}
		eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == many })
		for range each {
			f.engine.emit("")
		}
		drained := make(chan error, 1)
		go func() { drained <- f.hub.Drain(t.Context()) }()
		for _, s := range streams {
			for n := range each {
				s.expect("next", fmt.Sprint(n+1), tick(n+1, ""))
			}
			if block, err := s.block(); err != nil || !later.MatchString(block) {
				t.Errorf("got %q %v, want retry", block, err)
			}
			s.expectEnd()
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

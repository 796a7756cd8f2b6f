package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/realtime"
)

// later is what an event stream that sends its client away ends with: not all
// clients come back at the same moment.
var later = regexp.MustCompile(`^retry: 1\d\d\d$`)

func TestDrainFlushesThenSendsClientsAway(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{DrainWindow: 50 * time.Millisecond})
	var sockets []*client
	var streams []*events
	for range 5 {
		c := connect(t, f.url, "")
		c.subscribe("1", "subscription ticks")
		sockets = append(sockets, c)
		streams = append(streams, post(t, f.url, "subscription ticks", nil))
	}
	eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == 10 })
	for range 20 {
		f.engine.emit("")
	}
	drained := make(chan error, 1)
	go func() { drained <- f.hub.Drain(t.Context()) }()
	for _, c := range sockets {
		for n := range 20 {
			c.expect(`{"id":"1","type":"next","payload":` + tick(n+1, "") + `}`)
		}
		c.expectClose(1012)
	}
	for _, s := range streams {
		for n := range 20 {
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
	if s := f.hub.Stats(); s.Sockets+s.Streams+s.Operations != 0 {
		t.Errorf("left over: %+v", s)
	}
}

// A stock client sends what was not answered again on its next connection: a
// mutation would happen twice.
func TestDrainWaitsForAnswers(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{DrainWindow: time.Millisecond})
	c := connect(t, f.url, "")
	c.subscribe("1", "mutation slow")
	e := post(t, f.url, "mutation slow", nil)
	<-f.engine.blocked
	<-f.engine.blocked
	drained := make(chan error, 1)
	go func() { drained <- f.hub.Drain(t.Context()) }()
	eventually(t, "it drains", func() bool {
		_, resp, _ := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(f.url, "http"), nil)
		return resp != nil && resp.StatusCode == 503
	})
	close(f.engine.release)
	c.expect(`{"id":"1","type":"next","payload":{"data":{"slow":true}}}`)
	c.expect(`{"id":"1","type":"complete"}`)
	c.expectClose(1012)
	e.expect("next", "", `{"data":{"slow":true}}`)
	e.expect("complete", "", "")
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestDrainingHubRefuses(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	if err := f.hub.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	refuses(t, f)
}

func TestHubThatIsNotReadyRefuses(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	f := serve(t, realtime.Options{Ready: func() error {
		if ready.Load() {
			return nil
		}
		return errors.New("catching up")
	}})
	refuses(t, f)
	ready.Store(true)
	connect(t, f.url, "")
}

// refuses checks that every client is told to come back, in its own words.
func refuses(t *testing.T, f fixture) {
	t.Helper()
	_, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(f.url, "http"), nil)
	if err == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("socket: got %v %v, want 503 with Retry-After", resp, err)
	}
	if e := post(t, f.url, "query who", nil); e.resp.StatusCode != 503 {
		t.Errorf("POST: got %d, want 503", e.resp.StatusCode)
	}
	e := get(t, f.url, nil, "query", "query who") // EventSource gives up after a 503
	if block, err := e.block(); e.resp.StatusCode != 200 || !later.MatchString(block) || !e.resp.Close {
		t.Errorf("GET: got %d %q %v, want 200 and retry", e.resp.StatusCode, block, err)
	}
	e.expectEnd()
}

func TestDrainCutsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxQueue: 64 << 20, WriteTimeout: time.Hour})
	socket, stream := connect(t, f.url, ""), post(t, f.url, "subscription ticks", nil) // neither reads
	socket.subscribe("1", "subscription ticks")
	busy := post(t, f.url, "query block", nil)
	<-f.engine.blocked
	eventually(t, "both subscribe", func() bool { return f.engine.subscribers() == 2 })
	for range 32 {
		f.engine.emit(strings.Repeat("x", 1<<20))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := f.hub.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if s := f.hub.Stats(); s.Sockets+s.Streams+s.Operations != 0 {
		t.Errorf("left over: %+v", s)
	}
	_, _ = stream, busy
}

func TestWrapLeavesOtherRequestsAlone(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	for accept, stream := range map[string]bool{
		"text/event-stream":                        true,
		"text/event-stream, application/json":      true,
		"application/json, text/event-stream;q=.5": false,
		"text/event-stream;q=0":                    false,
		"application/json":                         false,
		"*/*":                                      false,
	} {
		e := get(t, f.url, http.Header{"Accept": {accept}}, "query", "query who")
		if got := e.resp.StatusCode == 200; got != stream {
			t.Errorf("Accept %q: taken %v, want %v", accept, got, stream)
		}
	}
}

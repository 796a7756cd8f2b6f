package realtime_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/realtime"
)

// number is the number of the event in a message.
func number(t testing.TB, data []byte) int {
	t.Helper()
	payload, _ := object(t, data)["payload"].(map[string]any)
	n, ok := payload["data"].(float64)
	if !ok {
		t.Fatalf("no event: %.100s", data)
	}
	return int(n)
}

// expectEvents reads the events from the first to the last number.
func (c *client) expectEvents(first, last int) {
	c.t.Helper()
	for want := first; want <= last; want++ {
		data, err := c.read()
		if err != nil {
			c.t.Fatalf("waiting for event %d: %v", want, err)
		}
		if got := number(c.t, data); got != want {
			c.t.Fatalf("got event %d, want %d", got, want)
		}
	}
}

func TestASocketThatPausesLosesNothingAndDelaysNobody(t *testing.T) {
	t.Parallel()
	const events = 300
	f := serve(t, realtime.Options{MaxQueue: 64 << 20, WriteTimeout: time.Minute})
	paused, quick := connect(t, f.url, ""), connect(t, f.url, "")
	paused.subscribe("1", "subscription ticks")
	quick.subscribe("1", "subscription ticks")
	eventually(t, "both subscribe", func() bool { return f.engine.subscribers() == 2 })
	filler := strings.Repeat("x", 48<<10) // all of them are more than the connection takes
	for n := range events {
		f.engine.emit(filler)
		quick.expectEvents(n+1, n+1)
	}
	paused.expectEvents(1, events)
	f.engine.emit("")
	paused.expectEvents(events+1, events+1)
	quick.expectEvents(events+1, events+1)
}

func TestEverySocketGetsEverythingInOrder(t *testing.T) {
	t.Parallel()
	const sockets, events = 60, 200
	f := serve(t, realtime.Options{})
	clients := make([]*client, sockets)
	for i := range clients {
		clients[i] = connect(t, f.url, "")
		clients[i].subscribe("1", "subscription ticks")
	}
	eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == sockets })
	for range events {
		f.engine.emit("")
	}
	for _, c := range clients {
		c.expectEvents(1, events)
	}
	if got := f.hub.Stats().Delivered; got != sockets*events {
		t.Errorf("%d results delivered, want %d", got, sockets*events)
	}
}

func TestASocketOverTLSIsWrittenToAsWell(t *testing.T) {
	t.Parallel()
	e := newScripted()
	hub := newHub(t, e, realtime.Options{})
	srv := httptest.NewTLSServer(hub.Wrap(http.NotFoundHandler()))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	d := websocket.Dialer{
		Subprotocols:    []string{realtime.Subprotocol},
		TLSClientConfig: &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs},
	}
	ws, _, err := d.DialContext(t.Context(), "wss"+strings.TrimPrefix(srv.URL, "https"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	c := &client{t: t, ws: ws}
	c.init("")
	c.subscribe("1", "subscription ticks")
	eventually(t, "it subscribes", func() bool { return e.subscribers() == 1 })
	for range 100 {
		e.emit("")
	}
	c.expectEvents(1, 100)
}

func TestSocketsComeAgainAfterAllHaveLeft(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	for round := range 3 {
		var clients []*client
		for range 5 {
			c := connect(t, f.url, "")
			c.subscribe("1", "subscription ticks")
			clients = append(clients, c)
		}
		eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == len(clients) })
		f.engine.emit("")
		for _, c := range clients {
			c.expectEvents(round+1, round+1)
			c.send(`{"type":"ping"}`)
			c.expect(`{"type":"pong"}`)
			c.ws.Close()
		}
		eventually(t, "all have left", func() bool { return f.hub.Stats().Sockets == 0 && f.engine.subscribers() == 0 })
	}
}

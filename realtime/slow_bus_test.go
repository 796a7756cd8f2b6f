package realtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/service"
)

const pricesSDL = `
type Query { one: Int @busRequest(subject: "one") }
type Price { symbol: String! n: Int! text: String! }
type Subscription {
  heard: Price @busSubscribe(subject: "prices.*", onSlow: LATEST, key: "symbol")
  kept: Price @busSubscribe(subject: "kept.*", stream: "KEPT", onSlow: LATEST, key: "symbol")
}`

// trading serves messages of the bus, over sockets that the kernel buffers
// little for. publish returns when the message is published, or stored.
func trading(t *testing.T) (url string, hub *realtime.Hub, engine *graphql.Engine, publish func(field string, data []byte) error) {
	t.Helper()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream()
	if err == nil {
		_, err = js.AddStream(&nats.StreamConfig{Name: "KEPT", Subjects: []string{"kept.*"}, Storage: nats.MemoryStorage})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := resourcetest.Reader(t, b, fstest.MapFS{"schema.graphql": {Data: []byte(pricesSDL)}}, resource.FeedOptions{})
	services, err := service.New(b, s.Model)
	if err != nil {
		t.Fatal(err)
	}
	if engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Services: services}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	hub = newHub(t, engine, realtime.Options{MaxQueue: 64 << 10, WriteTimeout: 5 * time.Minute, PingEvery: 5 * time.Minute})
	srv := httptest.NewUnstartedServer(hub.Wrap(engine))
	srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(16 << 10) // or the kernel keeps as it likes
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	return srv.URL, hub, engine, func(field string, data []byte) error {
		if field == "kept" {
			_, err := js.Publish("kept.a", data)
			return err
		}
		return errors.Join(nc.Publish("prices.a", data), nc.Flush())
	}
}

// quoted is what a client has of the messages.
type quoted struct {
	results, skipped int
	newest           map[string]int
}

// listen reads until it knows of so many messages.
func (q *quoted) listen(ws *websocket.Conn, field string, total int) error {
	for q.results+q.skipped < total {
		_ = ws.SetReadDeadline(time.Now().Add(time.Minute))
		var m struct {
			Type    string
			Payload struct {
				Data map[string]struct {
					Symbol string
					N      int
				}
				Extensions struct {
					Cursor  string
					Skipped int
				}
			}
		}
		_, data, err := ws.ReadMessage()
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if m.Type == "connection_ack" {
			continue
		}
		p, told := m.Payload.Data[field]
		if err != nil || !told || p.N <= q.newest[p.Symbol] || (m.Payload.Extensions.Cursor != "") != (field == "kept") {
			return fmt.Errorf("after %v: %.200s, %w", q, data, err)
		}
		q.results++
		q.skipped += m.Payload.Extensions.Skipped
		q.newest[p.Symbol] = p.N
	}
	return nil
}

// A socket that stops reading is not closed, delays nobody, and has the newest
// message of each key when it reads on.
func TestASocketThatStopsReadingGetsTheNewestMessages(t *testing.T) {
	t.Parallel()
	const total, keys = 80, 4
	for _, field := range []string{"heard", "kept"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			url, hub, engine, publish := trading(t)
			dial := func(slow bool) *websocket.Conn {
				d := websocket.Dialer{Subprotocols: []string{realtime.Subprotocol}, HandshakeTimeout: time.Minute, NetDial: func(network, addr string) (net.Conn, error) {
					c, err := net.Dial(network, addr)
					if tcp, ok := c.(*net.TCPConn); ok && slow {
						_ = tcp.SetReadBuffer(16 << 10) // or it keeps as it likes
					}
					return c, err
				}}
				ws, _, err := d.Dial("ws"+strings.TrimPrefix(url, "http"), nil)
				if err == nil {
					t.Cleanup(func() { ws.Close() })
					err = errors.Join(ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"connection_init"}`)),
						ws.WriteMessage(websocket.TextMessage, []byte(`{"id":"1","type":"subscribe","payload":{"query":"subscription { `+field+` { symbol n text } }"}}`)))
				}
				if err != nil {
					t.Fatal(err)
				}
				return ws
			}
			fast, slow := dial(false), dial(true)
			eventually(t, "both are subscribed", func() bool { return engine.Stats().Sinks == 2 })
			text := strings.Repeat("x", 15_000)
			quick, late := quoted{newest: map[string]int{}}, quoted{newest: map[string]int{}}
			for n := 1; n <= total; n++ {
				if err := publish(field, fmt.Appendf(nil, `{"symbol":"s%d","n":%d,"text":%q}`, n%keys, n, text)); err != nil {
					t.Fatal(err)
				}
				if err := quick.listen(fast, field, n); err != nil { // before the next: nobody is slow who reads
					t.Fatal(err)
				}
			}
			if err := late.listen(slow, field, total); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(late.newest, quick.newest) || quick.results != total || late.results+late.skipped != total || late.skipped == 0 {
				t.Errorf("%+v, the quick one %+v", late, quick)
			}
			if stats := hub.Stats(); stats.Overflowed > 0 || stats.Sockets != 2 {
				t.Errorf("%+v", stats)
			}
		})
	}
}

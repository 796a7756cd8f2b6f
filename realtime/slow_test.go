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
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gorilla/websocket"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

const (
	manySockets = 1000
	slowSockets = 10 // of them
	reports     = 16
)

// reporting serves reports of some kilobytes, over sockets that the kernel
// buffers little for.
func reporting(t *testing.T, policy string) *pod {
	t.Helper()
	dir := fstest.MapFS{"s.graphql": {Data: []byte(`type Report @resource(onSlow: ` + policy + `) @auth(requires: [ANYONE], on: [READ]) { id: ID! n: Int! text: String! }`)}}
	p := &pod{Service: resourcetest.On(t, bustest.Open(t, bus.Options{History: 1000}), dir, resource.FeedOptions{})}
	var err error
	if p.engine, err = graphql.New(p.Model, p.Client, p.Feed, graphql.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.engine.Close)
	p.hub = newHub(t, p.engine, realtime.Options{MaxQueue: 64 << 10, WriteTimeout: 5 * time.Minute, PingEvery: 5 * time.Minute})
	srv := httptest.NewUnstartedServer(p.hub.Wrap(p.engine))
	srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(16 << 10) // or the kernel keeps as it likes
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = p.hub.Close() })
	p.url = srv.URL
	return p
}

// heard is what a client has of the reports.
type heard struct {
	results, skipped int
	newest           map[string]int
	cursor           string
}

func (h *heard) take(data []byte) error {
	var m struct {
		Type    string
		Payload struct {
			Data struct {
				ReportChanged struct {
					ID     string
					Report struct{ N int }
				}
			}
			Extensions struct {
				Cursor  string
				Skipped int
			}
		}
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Type != "next" {
		return fmt.Errorf("got %.200s, %w", data, err)
	}
	c := m.Payload.Data.ReportChanged
	if c.Report.N < h.newest[c.ID] {
		return fmt.Errorf("%d of %s after %d", c.Report.N, c.ID, h.newest[c.ID])
	}
	h.results++
	h.skipped += m.Payload.Extensions.Skipped
	h.newest[c.ID], h.cursor = c.Report.N, m.Payload.Extensions.Cursor
	return nil
}

// report opens a socket and subscribes on it. The kernel buffers little for one
// that will be slow.
func (p *pod) report(cursor string, slow bool) (*websocket.Conn, error) {
	d := websocket.Dialer{Subprotocols: []string{realtime.Subprotocol}, HandshakeTimeout: time.Minute, ReadBufferSize: 512,
		NetDial: func(network, addr string) (net.Conn, error) {
			c, err := net.Dial(network, addr)
			if tcp, ok := c.(*net.TCPConn); ok && slow {
				_ = tcp.SetReadBuffer(16 << 10) // or it keeps as it likes
			}
			return c, err
		}}
	ws, _, err := d.Dial("ws"+strings.TrimPrefix(p.url, "http"), nil)
	if err != nil {
		return nil, err
	}
	const query = `{"query":"subscription { reportChanged { id report { n text } } }","extensions":{"cursor":%q}}`
	return ws, errors.Join(
		ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"connection_init"}`)),
		ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"id":"1","type":"subscribe","payload":`+query+`}`, cursor)))
}

// listenUntil reads until there have been enough; the close code when it ended before.
func (h *heard) listenUntil(ws *websocket.Conn, enough func() bool) (code int, err error) {
	for !enough() {
		_ = ws.SetReadDeadline(time.Now().Add(40 * time.Second))
		_, data, err := ws.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			return closed.Code, nil
		}
		if err != nil {
			return 0, err
		}
		if strings.Contains(string(data), "connection_ack") {
			continue
		}
		if err := h.take(data); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// hearAll reads every report, once and in order. It looks for little, since many do
// it at once.
func hearAll(ws *websocket.Conn, count *atomic.Int64) error {
	for n := range reports + 1 {
		n-- // the acknowledgement comes first
		_ = ws.SetReadDeadline(time.Now().Add(time.Minute))
		_, data, err := ws.ReadMessage()
		switch {
		case err != nil:
			return err
		case n < 0 && !strings.Contains(string(data), "connection_ack"), n >= 0 && !strings.Contains(string(data), fmt.Sprintf(`"n":%d,`, n)):
			return fmt.Errorf("instead of report %d: %.200s", n, data)
		case n >= 0:
			count.Add(1)
		}
	}
	return nil
}

// One in a hundred stops reading. The others get every event meanwhile, and
// what waits for the slow ones is bounded. When these read on they are cut off
// and get every event by their cursor, or the newest state of each record, by
// the resource's declaration; either way the numbers add up.
func TestWhoStopsReadingCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"CLOSE", "LATEST"} {
		t.Run(policy, func(t *testing.T) {
			p := reporting(t, policy)
			readOn := make(chan struct{})
			var quick, slow sync.WaitGroup
			var count atomic.Int64 // of what the quick ones have got
			want := map[string]int{}
			for i := range manySockets {
				ws, err := p.report("", i < slowSockets)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { ws.Close() })
				if i < slowSockets {
					slow.Go(func() {
						<-readOn
						p.readOn(t, ws, policy, want)
					})
					continue
				}
				quick.Go(func() {
					if err := hearAll(ws, &count); err != nil {
						t.Error(err)
					}
				})
			}
			eventually(t, "all are subscribed", func() bool { return p.engine.Stats().Sinks == manySockets })
			p.writeReports(t, want, func(n int) {
				eventually(t, "the quick ones have it", func() bool { return count.Load() == int64(n)*(manySockets-slowSockets) })
			})
			quick.Wait()
			close(readOn)
			slow.Wait()
			closed, skipped := p.hub.Stats().Overflowed, p.engine.Stats().Skipped
			if policy == "CLOSE" && (closed != slowSockets || skipped > 0) || policy == "LATEST" && (closed > 0 || skipped < slowSockets) {
				t.Errorf("%d closed, %d changes left out", closed, skipped)
			}
		})
	}
}

// writeReports makes the reports, with four records that change. After each it
// waits, so that nobody is slow who reads.
func (p *pod) writeReports(t *testing.T, want map[string]int, wait func(n int)) {
	t.Helper()
	var ids []string
	text := strings.Repeat("x", 15_000)
	for n := range reports {
		cmd := resource.Command{Type: "Report", Verb: resource.Create, Who: auth.Principal{Subject: "root", Roles: schema.Admin}, Input: fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, text)}
		if len(ids) == 4 {
			cmd.Verb, cmd.Input = resource.Update, fmt.Appendf(nil, `{"id":%q,"n":%d,"text":%q}`, ids[n*3%4], n, text)
		}
		r, err := p.Client.Submit(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		var made struct{ ID string }
		if err := json.Unmarshal(r.Raw, &made); err != nil {
			t.Fatal(err)
		}
		if cmd.Verb == resource.Create {
			ids = append(ids, made.ID)
		}
		want[made.ID] = n
		wait(n + 1)
	}
}

// readOn is what a slow client does when it reads again.
func (p *pod) readOn(t *testing.T, ws *websocket.Conn, policy string, want map[string]int) {
	if tcp, ok := ws.NetConn().(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1 << 20)
	}
	h := heard{newest: map[string]int{}}
	if policy == "LATEST" {
		code, err := h.listenUntil(ws, func() bool { return maps.Equal(h.newest, want) })
		if err != nil || code != 0 || h.results+h.skipped != reports || h.skipped == 0 {
			t.Errorf("%d results and %d left out of %d; closed %d, %v", h.results, h.skipped, reports, code, err)
		}
		return
	}
	code, err := h.listenUntil(ws, func() bool { return h.results == reports })
	if err != nil || code != 1013 {
		t.Errorf("closed %d after %d, %v", code, h.results, err)
		return
	}
	again, err := p.report(h.cursor, false)
	if err != nil {
		t.Error(err)
		return
	}
	defer again.Close()
	if code, err := h.listenUntil(again, func() bool { return h.results == reports }); err != nil || code != 0 || !maps.Equal(h.newest, want) {
		t.Errorf("resumed: %d results, closed %d, %v", h.results, code, err)
	}
}

// Operations that catch up at the same time share their connection's room: none
// of them is cut off because the others took it first.
func TestManyOperationsCatchUpOverOneSocket(t *testing.T) {
	t.Parallel()
	const operations, events = 40, 12
	p := pods(t, 1)[0] // whose queues take 64 KiB
	start := p.Feed.Now().String()
	for i := range events {
		vars, _ := json.Marshal(map[string]string{"t": fmt.Sprintf("%02d", i), "b": strings.Repeat("x", 16_000)})
		r := p.engine.Execute(t.Context(), ada, graphql.Request{
			Query: `mutation($t: String!, $b: String!) { createPost(input: {title: $t, body: $b}) { id } }`, Variables: vars,
		})
		if r.Failed {
			t.Fatalf("got %s", r.Body)
		}
	}
	c := connect(t, p.url, "")
	const wide = `subscription { postChanged { post { title body } } }`
	for i := range operations {
		payload, _ := json.Marshal(map[string]any{"query": wide, "extensions": map[string]string{"cursor": start}})
		c.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":%s}`, i, payload))
	}
	// Until the connection takes no more, they all wait for room.
	eventually(t, "they catch up", func() bool { return p.engine.Stats().Sinks == operations && p.engine.Stats().Replayed > 100 })
	got := map[string]int{}
	for range operations * events {
		data, err := c.read()
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		var m struct {
			ID      string
			Payload struct {
				Data struct {
					PostChanged struct{ Post struct{ Title string } }
				}
			}
		}
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		if title := m.Payload.Data.PostChanged.Post.Title; title != fmt.Sprintf("%02d", got[m.ID]) {
			t.Fatalf("operation %s got %s after %d events", m.ID, title, got[m.ID])
		}
		got[m.ID]++
	}
	if s := p.hub.Stats(); s.Overflowed != 0 {
		t.Errorf("%d overflowed", s.Overflowed)
	}
}

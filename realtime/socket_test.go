package realtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/realtime"
)

// client is a WebSocket client that fails its test when it waits in vain.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

func dial(t testing.TB, url string) *client {
	t.Helper()
	return dialAs(t, url, []string{realtime.Subprotocol}, nil)
}

func dialAs(t testing.TB, url string, protocols []string, h http.Header) *client {
	t.Helper()
	d := websocket.Dialer{Subprotocols: protocols, HandshakeTimeout: 10 * time.Second}
	ws, _, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(url, "http"), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return &client{t: t, ws: ws}
}

// connect dials and initialises.
func connect(t testing.TB, url, payload string) *client {
	t.Helper()
	c := dial(t, url)
	c.init(payload)
	return c
}

func (c *client) init(payload string) {
	c.t.Helper()
	if payload == "" {
		c.send(`{"type":"connection_init"}`)
	} else {
		c.send(`{"type":"connection_init","payload":` + payload + `}`)
	}
	c.expect(`{"type":"connection_ack"}`)
}

func (c *client) send(message string) {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) subscribe(id, query string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"id":%q,"type":"subscribe","payload":{"query":%q}}`, id, query))
}

func (c *client) read() ([]byte, error) {
	_ = c.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, data, err := c.ws.ReadMessage()
	return data, err
}

// skip passes over messages of a type until the one that is expected.
func (c *client) skip(typ, message string) {
	c.t.Helper()
	data, err := c.read()
	for err == nil && object(c.t, data)["type"] == typ {
		data, err = c.read()
	}
	c.check(data, err, message)
}

func (c *client) expect(message string) {
	c.t.Helper()
	data, err := c.read()
	c.check(data, err, message)
}

func (c *client) check(data []byte, err error, message string) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("waiting for %s: %v", message, err)
	}
	var got, want any
	if json.Unmarshal(data, &got) != nil || json.Unmarshal([]byte(message), &want) != nil || !reflect.DeepEqual(got, want) {
		c.t.Fatalf("got %s, want %s", data, message)
	}
}

// expectClose reads up to the close frame and returns its reason.
func (c *client) expectClose(code int) string {
	c.t.Helper()
	for {
		data, err := c.read()
		if err == nil {
			c.t.Logf("skipped %.200s", data)
			continue
		}
		e, ok := errors.AsType[*websocket.CloseError](err)
		if !ok || e.Code != code {
			c.t.Fatalf("got %v, want close %d", err, code)
		}
		return e.Text
	}
}

func TestSocketClosesWithTheCodeOfItsProtocol(t *testing.T) {
	t.Parallel()
	const begin = `{"type":"connection_init"}`
	big := `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	cases := []struct {
		name string
		send []string
		code int
	}{
		{"not JSON", []string{`hello`}, 4400},
		{"an array", []string{`[{"type":"connection_init"}]`}, 4400},
		{"null", []string{`null`}, 4400},
		{"no type", []string{`{"id":"1"}`}, 4400},
		{"type is no string", []string{`{"type":1}`}, 4400},
		{"unknown type", []string{begin, `{"type":"start","id":"1"}`}, 4400},
		{"a server's type", []string{begin, `{"type":"next","id":"1","payload":{}}`}, 4400},
		{"init payload is no object", []string{`{"type":"connection_init","payload":"x"}`}, 4400},
		{"init token is no string", []string{`{"type":"connection_init","payload":{"authToken":7}}`}, 4400},
		{"ping payload is no object", []string{`{"type":"ping","payload":[]}`}, 4400},
		{"pong payload is no object", []string{`{"type":"pong","payload":1}`}, 4400},
		{"subscribe without id", []string{begin, `{"type":"subscribe","payload":{"query":"query who"}}`}, 4400},
		{"subscribe with an empty id", []string{begin, `{"id":"","type":"subscribe","payload":{"query":"query who"}}`}, 4400},
		{"subscribe with a number as id", []string{begin, `{"id":1,"type":"subscribe","payload":{"query":"query who"}}`}, 4400},
		{"subscribe with an endless id", []string{begin, `{"id":"` + strings.Repeat("x", 300) + `","type":"subscribe","payload":{"query":"query who"}}`}, 4400},
		{"subscribe without payload", []string{begin, `{"id":"1","type":"subscribe"}`}, 4400},
		{"subscribe without query", []string{begin, `{"id":"1","type":"subscribe","payload":{}}`}, 4400},
		{"query is no string", []string{begin, `{"id":"1","type":"subscribe","payload":{"query":{}}}`}, 4400},
		{"variables are no object", []string{begin, `{"id":"1","type":"subscribe","payload":{"query":"query who","variables":"x"}}`}, 4400},
		{"operationName is no string", []string{begin, `{"id":"1","type":"subscribe","payload":{"query":"query who","operationName":1}}`}, 4400},
		{"extensions are no object", []string{begin, `{"id":"1","type":"subscribe","payload":{"query":"query who","extensions":""}}`}, 4400},
		{"complete without id", []string{begin, `{"type":"complete"}`}, 4400},
		{"subscribe before init", []string{`{"id":"1","type":"subscribe","payload":{"query":"query who"}}`}, 4401},
		{"wrong token", []string{`{"type":"connection_init","payload":{"authToken":"wrong"}}`}, 4403},
		{"wrong Authorization", []string{`{"type":"connection_init","payload":{"Authorization":"Bearer wrong"}}`}, 4403},
		{"wrong scheme", []string{`{"type":"connection_init","payload":{"Authorization":"Basic eDp5"}}`}, 4403},
		{"duplicate id", []string{begin, `{"id":"1","type":"subscribe","payload":{"query":"subscription ticks"}}`, `{"id":"1","type":"subscribe","payload":{"query":"subscription ticks"}}`}, 4409},
		{"second init", []string{begin, begin}, 4429},
		{"message too large", []string{big}, 1009},
		{"not UTF-8", []string{"{\"type\":\"ping\",\"payload\":{\"x\":\"\xff\"}}"}, 1007},
	}
	f := serve(t, realtime.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ws := dial(t, f.url)
			for _, m := range c.send {
				ws.send(m)
			}
			if text := ws.expectClose(c.code); text == "" {
				t.Error("the close frame has no reason")
			}
		})
	}
}

func TestSocketWithoutItsSubprotocolIsClosed4406(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	for _, protocols := range [][]string{nil, {"graphql-subscriptions"}, {"soap"}, {"Graphql-Transport-Ws"}} {
		dialAs(t, f.url, protocols, nil).expectClose(4406)
	}
}

func TestBinaryMessageIsClosed4400(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, realtime.Options{}).url)
	if err := c.ws.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"connection_init"}`)); err != nil {
		t.Fatal(err)
	}
	c.expectClose(4400)
}

func TestSocketThatIsNotInitialisedInTimeIsClosed4408(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, realtime.Options{InitTimeout: 20 * time.Millisecond}).url)
	c.expectClose(4408)
}

func TestSocketIsClosed4403WhenItsTokenExpires(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, `{"authToken":"`+token(t, "alice", 2*time.Second)+`"}`)
	c.subscribe("1", "subscription ticks")
	c.expectClose(4403)
	<-f.engine.stopped
}

func TestCallerIsWhomTheTokenNames(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	alice := token(t, "alice", time.Hour)
	header := http.Header{"Authorization": {"Bearer " + token(t, "bob", time.Hour)}, "Cookie": {"authToken=" + alice}}
	cases := []struct {
		name, init, who string
		header          http.Header
	}{
		{"no token", "", "", nil},
		{"a cookie only", "", "", http.Header{"Cookie": {"authToken=" + alice}}},
		{"empty payload", "{}", "", nil},
		{"authToken", `{"authToken":"` + alice + `"}`, "alice", nil},
		{"Authorization", `{"Authorization":"Bearer ` + alice + `"}`, "alice", nil},
		{"Authorization, bare", `{"Authorization":"` + alice + `"}`, "alice", nil},
		{"the handshake's header", "", "bob", header},
		{"the message rather than the header", `{"authToken":"` + alice + `"}`, "alice", header},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ws := dialAs(t, f.url, []string{realtime.Subprotocol}, c.header)
			ws.init(c.init)
			ws.subscribe("1", "query who")
			ws.expect(fmt.Sprintf(`{"id":"1","type":"next","payload":{"data":{"who":%q}}}`, c.who))
			ws.expect(`{"id":"1","type":"complete"}`)
		})
	}
}

func TestHandshakeIsRefused(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{AllowedOrigins: []string{"https://app.example.com"}})
	host := strings.TrimPrefix(f.url, "http://")
	cases := []struct {
		name   string
		header http.Header
		status int
	}{
		{"foreign origin", http.Header{"Origin": {"https://evil.example.com"}}, 403},
		{"null origin", http.Header{"Origin": {"null"}}, 403},
		{"own origin", http.Header{"Origin": {"http://" + host}}, 101},
		{"allowed origin", http.Header{"Origin": {"https://app.example.com"}}, 101},
		{"wrong token", http.Header{"Authorization": {"Bearer wrong"}}, 401},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := websocket.Dialer{Subprotocols: []string{realtime.Subprotocol}}
			ws, resp, err := d.DialContext(t.Context(), "ws://"+host, c.header)
			if err == nil {
				defer ws.Close()
			}
			if resp == nil || resp.StatusCode != c.status {
				t.Fatalf("got %v %v, want status %d", resp, err, c.status)
			}
		})
	}
}

func TestPingIsAnsweredWithItsPayload(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, realtime.Options{}).url)
	c.send(`{"type":"ping"}`) // allowed before connection_init
	c.expect(`{"type":"pong"}`)
	c.send(`{"type":"ping","payload":{"at":1}}`)
	c.expect(`{"type":"pong","payload":{"at":1}}`)
	c.send(`{"type":"pong","payload":{"at":1}}`)
	c.init("")
}

func TestOperationsShareASocket(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.subscribe("a", "subscription ticks")
	c.subscribe("b", "query block")
	<-f.engine.blocked
	c.subscribe("c", "mutation set")
	c.expect(`{"id":"c","type":"next","payload":{"data":{"set":true}}}`)
	c.expect(`{"id":"c","type":"complete"}`)
	f.engine.emit("")
	c.expect(`{"id":"a","type":"next","payload":{"data":1,"extensions":{"cursor":"1"},"filler":""}}`)
	c.send(`{"id":"c","type":"subscribe","payload":{"query":"query variables","operationName":"x","variables":{"v":[1]},"extensions":null}}`)
	c.expect(`{"id":"c","type":"next","payload":{"data":{"variables":{"v":[1]},"name":"x"}}}`)
	c.expect(`{"id":"c","type":"complete"}`)
	c.send(`{"id":"b","type":"complete"}`)
	c.send(`{"id":"a","type":"complete"}`)
	c.send(`{"id":"unknown","type":"complete"}`)
	<-f.engine.stopped
	f.engine.emit("")
	c.subscribe("a", "subscription ends") // the id is free again
	c.expect(`{"id":"a","type":"next","payload":{"data":1}}`)
	c.expect(`{"id":"a","type":"complete"}`)
	eventually(t, "no operation is left", func() bool { return f.hub.Stats().Operations == 0 })
}

func TestAfterAnErrorThereIsNoComplete(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, realtime.Options{}).url, "")
	c.subscribe("1", "subscription breaks")
	c.expect(`{"id":"1","type":"error","payload":[{"message":"broken"}]}`)
	c.subscribe("1", "subscription unknown")
	c.expect(`{"id":"1","type":"error","payload":[{"message":"no such subscription","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`)
	c.subscribe("1", "{")
	c.expect(`{"id":"1","type":"error","payload":[{"message":"unexpected {","extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}`)
	c.send(`{"type":"ping"}`)
	c.expect(`{"type":"pong"}`)
}

func TestAPanicFailsItsOperationAlone(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	internal := regexp.MustCompile(`\[{"message":"internal error","extensions":{"code":"INTERNAL","requestId":"[A-Z2-7]{26}"}}\]`)
	c := connect(t, f.url, "")
	for _, query := range []string{"query panic", "subscription panics"} {
		c.subscribe("1", query)
		if data, err := c.read(); err != nil || !internal.Match(data) || !strings.HasPrefix(string(data), `{"id":"1","type":"error"`) {
			t.Errorf("got %s, %v", data, err)
		}
	}
	e := post(t, f.url, "query panic", nil)
	if got, err := e.next(); err != nil || got.name != "next" || !internal.MatchString(got.data) {
		t.Errorf("got %+v, %v", got, err)
	}
	e.expect("complete", "", "")
}

func TestSocketRunsABoundedNumberOfOperations(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, realtime.Options{MaxOperations: 1}).url, "")
	c.subscribe("1", "subscription ticks")
	c.subscribe("2", "subscription ticks")
	c.expect(`{"id":"2","type":"error","payload":[{"message":"a connection runs at most 1 operations; complete one first","extensions":{"code":"RATE_LIMITED","retryAfter":1}}]}`)
	c.send(`{"id":"1","type":"complete"}`)
	c.subscribe("2", "subscription ends")
	c.expect(`{"id":"2","type":"next","payload":{"data":1}}`)
}

func TestSocketResumesByCursor(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	for range 3 {
		f.engine.emit("")
	}
	third := `"type":"next","payload":{"data":3,"extensions":{"cursor":"3"},"filler":""}}`
	c := connect(t, f.url, `{"resume":{"a":"2","b":"1"}}`)
	c.subscribe("a", "subscription ticks")
	c.expect(`{"id":"a",` + third)
	c.send(`{"id":"b","type":"subscribe","payload":{"query":"subscription ticks","extensions":{"cursor":"2"}}}`)
	c.expect(`{"id":"b",` + third)
	c.send(`{"id":"a","type":"complete"}`)
	c.subscribe("a", "subscription ticks") // another operation: from now
	c.send(`{"type":"ping"}`)
	c.expect(`{"type":"pong"}`)
}

func TestDisconnectEndsTheOperations(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.subscribe("a", "subscription ticks")
	c.subscribe("b", "query block")
	<-f.engine.blocked
	c.ws.Close()
	<-f.engine.stopped
	eventually(t, "nothing is left", func() bool {
		s := f.hub.Stats()
		return s.Operations == 0 && s.Sockets == 0
	})
}

func TestCloseFrameIsAnswered(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	for _, code := range []int{1000, 1001, 4999} {
		c := connect(t, f.url, "")
		message := websocket.FormatCloseMessage(code, "bye")
		if err := c.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		c.expectClose(code)
	}
}

func TestSilentSocketIsDropped(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{PingEvery: 20 * time.Millisecond})
	c := connect(t, f.url, "")
	c.ws.SetPingHandler(func(string) error { return nil }) // answers nothing
	c.expectClose(websocket.CloseAbnormalClosure)

	f = serve(t, realtime.Options{PingEvery: 200 * time.Millisecond})
	live := connect(t, f.url, "") // answers pings while it reads
	pings := make(chan struct{}, 100)
	answer := live.ws.PingHandler()
	live.ws.SetPingHandler(func(data string) error {
		pings <- struct{}{}
		return answer(data)
	})
	ended := make(chan error, 1)
	go func() { _, err := live.read(); ended <- err }()
	for range 5 { // twice the period after which a silent one is dropped
		select {
		case <-pings:
		case err := <-ended:
			t.Fatal(err)
		}
	}
}

func TestSlowSocketIsClosed1013AndCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxQueue: 128 << 10, WriteTimeout: 20 * time.Second})
	slow, quick := connect(t, f.url, ""), connect(t, f.url, "")
	slow.subscribe("1", "subscription ticks")
	quick.subscribe("1", "subscription ticks")
	eventually(t, "both subscribe", func() bool { return f.engine.subscribers() == 2 })
	filler := strings.Repeat("x", 32<<10)
	for n := 1; f.hub.Stats().Overflowed == 0; n++ { // until the kernel's buffers are full too
		f.engine.emit(filler)
		quick.expect(fmt.Sprintf(`{"id":"1","type":"next","payload":{"data":%d,"extensions":{"cursor":"%d"},"filler":%q}}`, n, n, filler))
	}
	slow.expectClose(1013)
	if n := f.engine.subscribers(); n != 1 {
		t.Errorf("%d subscribers are left, want 1", n)
	}
}

func TestOneMessageMayBeLargerThanTheQueue(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxQueue: 1 << 10})
	c := connect(t, f.url, "")
	c.subscribe("1", "subscription ticks")
	eventually(t, "it subscribes", func() bool { return f.engine.subscribers() == 1 })
	filler := strings.Repeat("x", 200<<10)
	f.engine.emit(filler)
	c.expect(`{"id":"1","type":"next","payload":{"data":1,"extensions":{"cursor":"1"},"filler":"` + filler + `"}}`)
}

func TestHandlerReturnsWhileTheSocketLives(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxConnections: 1})
	c := connect(t, f.url, "")
	dial(t, f.url).expectClose(1013) // the bound holds: it counts sockets, not handlers
	c.subscribe("1", "query who")
	c.expect(`{"id":"1","type":"next","payload":{"data":{"who":""}}}`)
}

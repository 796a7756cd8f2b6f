package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gorilla/websocket"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/console"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
	"tidings/realtime"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/revoke"
	"tidings/schema"
)

var secret = []byte("a secret of thirty-two bytes....")

// pod is a process of the service with its console.
type pod struct {
	*resourcetest.Service
	engine  *graphql.Engine
	hub     *realtime.Hub
	console *console.Console
	public  string // URL
	admin   string // URL
	log     *proctest.Log
}

// every is how often tests look.
const every = 40 * time.Millisecond

// pods starts processes that share one log; the first has the worker.
func pods(t testing.TB, n int) []*pod {
	t.Helper()
	b := bustest.New(t)
	list := make([]*pod, n)
	for i := range list {
		list[i] = newPod(t, b, i == 0)
	}
	return list
}

func newPod(t testing.TB, b *bus.Bus, writes bool) *pod {
	t.Helper()
	every := every
	if _, bench := t.(*testing.B); bench {
		every = time.Second // as it is in service
	}
	p, dir := &pod{log: new(proctest.Log)}, os.DirFS("../examples/social")
	if writes {
		p.Service = resourcetest.On(t, b, dir, resource.FeedOptions{})
	} else {
		p.Service = resourcetest.Reader(t, b, dir, resource.FeedOptions{})
	}
	metrics := proc.NewMetrics()
	deployed, err := graphql.ReadOperations(fstest.MapFS{"watch.graphql": {Data: []byte("subscription Watch { postChanged { kind } }")}})
	if err != nil {
		t.Fatal(err)
	}
	p.engine, err = graphql.New(p.Model, p.Client, p.Feed, graphql.Options{Metrics: metrics, Persisted: graphql.Persisted{Deployed: deployed}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.engine.Close)
	metrics.Gauge("tidings_groups", "Groups.", func() float64 { return float64(p.engine.Stats().Groups) })
	revoked := new(auth.Revocations)
	verifier, err := auth.NewVerifier(auth.Options{Secret: secret, Revoked: revoked})
	if err != nil {
		t.Fatal(err)
	}
	revocations, err := revoke.Open(t.Context(), b, revoked, revoke.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resourcetest.Run(t, "revoked", revocations.Run)
	p.hub = realtime.NewHub(p.engine, verifier, realtime.Options{Metrics: metrics, MaxOperations: 200})
	public := httptest.NewServer(p.hub.Wrap(p.engine))
	t.Cleanup(public.Close)
	t.Cleanup(func() { _ = p.hub.Close() })
	p.console, err = console.New(console.Options{
		Bus: b, Metrics: metrics, Ready: func() error { return nil }, Role: "api", Hub: p.hub,
		Groups: p.engine.Groups, Text: p.engine.Text, Feed: func() *resource.Feed { return p.Feed },
		Verifier: verifier, Revoke: revocations.Revoke, Every: every,
		Logger: slog.New(slog.NewTextHandler(p.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, r := range p.console.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	admin := httptest.NewServer(mux)
	t.Cleanup(admin.Close)
	resourcetest.Run(t, "console", p.console.Run)
	p.public, p.admin = public.URL, admin.URL
	return p
}

// token is one for a subject with roles, good for an hour.
func token(t testing.TB, subject string, roles schema.Roles) string {
	t.Helper()
	return tokenFor(t, subject, roles, time.Hour)
}

func tokenFor(t testing.TB, subject string, roles schema.Roles, ttl time.Duration) string {
	t.Helper()
	s, err := auth.Sign(secret, auth.Principal{Subject: subject, Roles: roles, TokenID: subject + "-1"}, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client is one end of a socket.
type client struct {
	t  testing.TB
	ws *websocket.Conn
	mu sync.Mutex
}

// dial opens a socket and says connection_init with the token, if it is not empty.
func dial(t testing.TB, url, bearer string) *client {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{realtime.Subprotocol}, HandshakeTimeout: 20 * time.Second}
	ws, _, err := d.Dial("ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	c := &client{t: t, ws: ws}
	payload := "{}"
	if bearer != "" {
		payload = `{"authToken":"` + bearer + `"}`
	}
	c.send(`{"type":"connection_init","payload":` + payload + `}`)
	return c
}

// connect is dial for a client that is let in.
func connect(t testing.TB, url, bearer string) *client {
	t.Helper()
	c := dial(t, url, bearer)
	if m, err := c.read(); err != nil || m.Type != "connection_ack" {
		t.Fatalf("got %+v %v", m, err)
	}
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

type message struct {
	ID, Type string
	Payload  json.RawMessage
}

func (c *client) read() (m message, err error) {
	_ = c.ws.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		_, data, err := c.ws.ReadMessage()
		if err != nil {
			return m, err
		}
		if err := json.Unmarshal(data, &m); err != nil || m.Type != "ping" {
			return m, err
		}
	}
}

// subscribe begins an operation.
func (c *client) subscribe(id, query string, variables map[string]any) {
	c.t.Helper()
	payload, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(fmt.Sprintf(`{"id":%q,"type":"subscribe","payload":%s}`, id, payload))
}

// until reads results into a new value each time, until it is as wanted.
func until[T any](c *client, wanted func(T) bool) T {
	c.t.Helper()
	var last []byte
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		m, err := c.read()
		if err != nil {
			c.t.Fatalf("%v; the last was %s", err, last)
		}
		var body struct {
			Data   T
			Errors json.RawMessage
		}
		last = m.Payload
		if err := json.Unmarshal(m.Payload, &body); m.Type != "next" || err != nil || body.Errors != nil {
			c.t.Fatalf("got %s %s: %v", m.Type, m.Payload, err)
		}
		if wanted(body.Data) {
			return body.Data
		}
	}
	c.t.Fatalf("never as wanted: %s", last)
	panic("unreachable")
}

// closed reads until the socket is closed and returns the code.
func (c *client) closed() int {
	c.t.Helper()
	for {
		if _, err := c.read(); err != nil {
			e, ok := err.(*websocket.CloseError)
			if !ok {
				c.t.Fatalf("the socket ended without a close frame: %v", err)
			}
			return e.Code
		}
	}
}

// ask sends a query or a mutation over the socket and returns its data.
func ask[T any](c *client, id, query string, variables map[string]any) T {
	c.t.Helper()
	c.subscribe(id, query, variables)
	return until(c, func(T) bool { return true })
}

// write makes changes: posts of a subject.
func (p *pod) write(t testing.TB, n int) {
	t.Helper()
	who := auth.Principal{Subject: "ada", Roles: schema.User}
	for i := range n {
		r := p.engine.Execute(context.Background(), who, graphql.Request{Query: fmt.Sprintf(`mutation { createPost(input: {title: "post %d"}) { id } }`, i)})
		if strings.Contains(string(r.Body), `"errors"`) {
			t.Fatalf("got %s", r.Body)
		}
	}
}

// untilOf is until for one of several operations.
func untilOf[T any](c *client, id string, wanted func(T) bool) T {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		m, err := c.read()
		if err != nil {
			c.t.Fatal(err)
		}
		if m.ID != id {
			continue
		}
		var body struct {
			Data   T
			Errors json.RawMessage
		}
		if err := json.Unmarshal(m.Payload, &body); m.Type != "next" || err != nil || body.Errors != nil {
			c.t.Fatalf("got %s %s: %v", m.Type, m.Payload, err)
		}
		if wanted(body.Data) {
			return body.Data
		}
	}
	c.t.Fatal("never as wanted")
	panic("unreachable")
}

// await waits for a condition.
func await(t testing.TB, is func() bool) {
	t.Helper()
	tick, late := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it did not come to that in time")
		}
	}
}

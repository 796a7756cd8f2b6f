package realtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// pod is a process of the service, as far as a client sees it.
type pod struct {
	*resourcetest.Service
	engine *graphql.Engine
	hub    *realtime.Hub
	url    string
}

// pods starts processes that share one log. The first has a worker.
func pods(t *testing.T, n int) []*pod {
	t.Helper()
	b := bustest.New(t)
	dir := os.DirFS("../examples/social")
	feed := resource.FeedOptions{Ring: 64} // small: clients resume from the log too
	list := make([]*pod, n)
	for i := range list {
		p := &pod{}
		if i == 0 {
			p.Service = resourcetest.On(t, b, dir, feed)
		} else {
			p.Service = resourcetest.Reader(t, b, dir, feed)
		}
		p.start(t)
		list[i] = p
	}
	return list
}

// start runs the engine, the hub and the server; they end with the test.
func (p *pod) start(t *testing.T) {
	t.Helper()
	functions := map[string]graphql.Function{}
	for _, f := range p.Model.Contract.Subscription.Fields {
		if p.Model.Root("Subscription", f.Name) == nil {
			functions["Subscription."+f.Name] = graphql.Function{Subscribe: nothing}
		}
	}
	var err error
	if p.engine, err = graphql.New(p.Model, p.Client, p.Feed, graphql.Options{Functions: functions}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.engine.Close)
	p.hub = newHub(t, p.engine, realtime.Options{MaxQueue: 64 << 10, KeepAlive: 50 * time.Millisecond, PingEvery: time.Minute})
	srv := httptest.NewServer(p.hub.Wrap(p.engine))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = p.hub.Close() })
	p.url = srv.URL
}

const postChanged = `subscription { postChanged { kind post { id title } } }`

// change is what postChanged delivers.
type change struct {
	Data struct {
		PostChanged struct {
			Kind string
			Post struct{ ID, Title string }
		}
	}
	Errors     json.RawMessage
	Extensions struct{ Cursor string }
}

// subscription is a live subscription over either transport.
type subscription interface {
	// next returns the next result, false when the connection has ended.
	next() (change, bool)
	close()
}

type overWebSocket struct{ c *client }

func (p *pod) webSocket(t *testing.T, cursor string) subscription {
	t.Helper()
	c := connect(t, p.url, "")
	payload, _ := json.Marshal(map[string]any{"query": postChanged, "extensions": map[string]string{"cursor": cursor}})
	c.send(`{"id":"1","type":"subscribe","payload":` + string(payload) + `}`)
	return overWebSocket{c}
}

func (s overWebSocket) next() (ch change, ok bool) {
	data, err := s.c.read()
	if err != nil {
		return ch, false
	}
	var m struct {
		ID, Type string
		Payload  json.RawMessage
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Type != "next" || m.ID != "1" {
		s.c.t.Fatalf("got %s %v", data, err)
	}
	return decodeChange(s.c.t, m.Payload), true
}

func (s overWebSocket) close() { s.c.ws.Close() }

type overSSE struct{ e *events }

func (p *pod) stream(t *testing.T, cursor string) subscription {
	t.Helper()
	h := http.Header{}
	if cursor != "" {
		h.Set("Last-Event-ID", cursor)
	}
	return overSSE{get(t, p.url, h, "query", postChanged)}
}

func (s overSSE) next() (ch change, ok bool) {
	ev, err := s.e.next()
	if err != nil {
		return ch, false
	}
	if ev.name != "next" {
		s.e.t.Fatalf("got %+v", ev)
	}
	ch = decodeChange(s.e.t, []byte(ev.data))
	if ev.id != ch.Extensions.Cursor {
		s.e.t.Errorf("id %q beside cursor %q", ev.id, ch.Extensions.Cursor)
	}
	return ch, true
}

func (s overSSE) close() { s.e.resp.Body.Close() }

func decodeChange(t testing.TB, data []byte) (ch change) {
	t.Helper()
	if err := json.Unmarshal(data, &ch); err != nil || ch.Errors != nil || ch.Extensions.Cursor == "" {
		t.Fatalf("got %s %v", data, err)
	}
	return ch
}

var ada = auth.Principal{Subject: "ada", Roles: schema.User}

// write creates a post and returns its id.
func (p *pod) write(t *testing.T, title string) string {
	vars, _ := json.Marshal(map[string]any{"t": title})
	r := p.engine.Execute(t.Context(), ada, graphql.Request{
		Query:     `mutation($t: String!) { createPost(input: {title: $t}) { id } }`,
		Variables: vars,
	})
	var body struct {
		Data struct{ CreatePost struct{ ID string } }
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || body.Data.CreatePost.ID == "" {
		t.Errorf("got %s", r.Body)
	}
	return body.Data.CreatePost.ID
}

func TestASubscriptionGoesOnOverTheOtherTransportOnAnotherPod(t *testing.T) {
	t.Parallel()
	p := pods(t, 2)
	ws := p[0].webSocket(t, "")
	eventually(t, "it subscribes", func() bool { return p[0].engine.Stats().Sinks == 1 })
	mutate := connect(t, p[1].url, `{"authToken":"`+token(t, "ada", time.Hour)+`"}`)
	mutate.subscribe("m", `mutation { createPost(input: {title: "first"}) { title } }`)
	mutate.expect(`{"id":"m","type":"next","payload":{"data":{"createPost":{"title":"first"}}}}`)
	mutate.expect(`{"id":"m","type":"complete"}`)
	first, ok := ws.next()
	if got := first.Data.PostChanged; !ok || got.Kind != "CREATED" || got.Post.Title != "first" {
		t.Fatalf("got %+v", first)
	}
	ws.close()
	for i := range 10 {
		p[0].write(t, fmt.Sprint(i))
	}
	stream := p[1].stream(t, first.Extensions.Cursor)
	for i := range 10 {
		if ch, ok := stream.next(); !ok || ch.Data.PostChanged.Post.Title != fmt.Sprint(i) {
			t.Fatalf("event %d: got %+v", i, ch)
		}
	}
}

// EventSource comes back with the last id it was told, even when it was told
// nothing else.
func TestAStreamThatCarriedNothingYetResumesToo(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	e := get(t, p.url, nil, "query", postChanged)
	var cursor string
	for cursor == "" {
		block, err := e.block()
		if err != nil {
			t.Fatal(err)
		}
		cursor, _ = strings.CutPrefix(block, "id: ")
		if cursor == block {
			cursor = ""
		}
	}
	e.resp.Body.Close()
	p.write(t, "missed")
	if ch, ok := p.stream(t, cursor).next(); !ok || ch.Data.PostChanged.Post.Title != "missed" {
		t.Errorf("got %+v", ch)
	}
}

// Clients roam between pods and transports and lose their connections all the
// time, by their own doing and the pods', while writers never pause.
func TestRoamingClientsMissNothingUnderLoad(t *testing.T) {
	t.Parallel()
	const writers, each, clients = 6, 40, 8
	p := pods(t, 2)
	start := p[0].Feed.Now().String()
	var mu sync.Mutex
	var written []string
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := p[w%2].write(t, fmt.Sprint(i))
				mu.Lock()
				written = append(written, id)
				mu.Unlock()
			}
		})
	}
	got := make([][]string, clients)
	for n := range clients {
		wg.Go(func() { got[n] = roam(t, p, start, writers*each, uint64(n)) })
	}
	wg.Wait()
	slices.Sort(written)
	for n, ids := range got {
		if !slices.Equal(ids, got[0]) {
			t.Errorf("client %d saw another order than client 0", n)
		}
		ids = slices.Clone(ids)
		slices.Sort(ids)
		if !slices.Equal(ids, written) {
			t.Errorf("client %d got %d events for %d that were answered", n, len(ids), len(written))
		}
	}
}

func roam(t *testing.T, p []*pod, cursor string, all int, seed uint64) (ids []string) {
	random := rand.New(rand.NewPCG(seed, 2))
	for len(ids) < all {
		to := p[random.IntN(len(p))]
		open := to.webSocket
		if random.IntN(2) == 0 {
			open = to.stream
		}
		s := open(t, cursor)
		for range 1 + random.IntN(40) {
			ch, ok := s.next()
			if !ok {
				t.Errorf("client %d was cut after %d", seed, len(ids))
				return ids
			}
			ids = append(ids, ch.Data.PostChanged.Post.ID)
			cursor = ch.Extensions.Cursor
			if len(ids) == all {
				break
			}
		}
		s.close()
	}
	return ids
}

// A pod that drains sends its clients away with all that it had for them; they
// resume elsewhere.
func TestClientsOfADrainedPodResumeElsewhere(t *testing.T) {
	t.Parallel()
	const all = 200
	p := pods(t, 2)
	start := p[0].Feed.Now().String()
	read := func(s subscription, ids []string, cursor string) ([]string, string) {
		defer s.close()
		for len(ids) < all {
			ch, ok := s.next()
			if !ok {
				break
			}
			ids, cursor = append(ids, ch.Data.PostChanged.Post.ID), ch.Extensions.Cursor
		}
		return ids, cursor
	}
	var written []string
	got := make([][]string, 6)
	var wg sync.WaitGroup
	for n := range got {
		wg.Go(func() {
			open := [][2]func(*testing.T, string) subscription{{p[0].webSocket, p[1].stream}, {p[0].stream, p[1].webSocket}}[n%2]
			ids, cursor := read(open[0](t, start), nil, start)
			got[n], _ = read(open[1](t, cursor), ids, cursor)
		})
	}
	eventually(t, "all subscribe", func() bool { return p[0].engine.Stats().Sinks == len(got) })
	for i := range all {
		written = append(written, p[1].write(t, fmt.Sprint(i)))
		if i == all/2 {
			wg.Go(func() {
				if err := p[0].hub.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for n, ids := range got {
		if !slices.Equal(ids, written) {
			t.Errorf("client %d got %d events, not the %d in the order of their writing", n, len(ids), len(written))
		}
	}
}

// nothing stands for the functions that a schema may want.
func nothing(context.Context, graphql.Call) iter.Seq2[any, error] {
	return func(func(any, error) bool) {}
}

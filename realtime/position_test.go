package realtime_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/graphql"
	"tidings/realtime"
)

const mine = `subscription { postChanged(filter: {title: {beginsWith: "mine"}}) { post { title } } }`

// idler is a client that has been told of nothing but positions.
type idler struct {
	latest func() string                     // waits for the next position
	resume func(cursor string) (text string) // says what comes first after a cursor
}

// idlers subscribes to what is mine over each transport.
func idlers(t *testing.T, url string) map[string]idler {
	t.Helper()
	list := map[string]idler{}
	for _, each := range []struct{ protocol, start, heartbeat string }{
		{realtime.Subprotocol, "subscribe", "ping"}, {realtime.LegacySubprotocol, "start", "ka"},
	} {
		listen := func(extensions string) *client {
			c := dialAs(t, url, []string{each.protocol}, nil)
			c.send(`{"type":"connection_init","payload":{"cursors":true}}`)
			c.expect(`{"type":"connection_ack"}`)
			c.send(fmt.Sprintf(`{"id":"1","type":%q,"payload":{"query":%q,"extensions":%s}}`, each.start, mine, extensions))
			return c
		}
		c := listen(`{}`)
		list[each.protocol] = idler{
			latest: func() string {
				for {
					data, err := c.read()
					if err != nil {
						t.Fatal(err)
					}
					var m struct {
						Type    string
						Payload struct{ Cursors map[string]string }
					}
					if err := json.Unmarshal(data, &m); err != nil || m.Type != each.heartbeat {
						t.Fatalf("%s: got %s", each.protocol, data)
					}
					if cursor := m.Payload.Cursors["1"]; cursor != "" {
						return cursor
					}
				}
			},
			resume: func(cursor string) string {
				c := listen(fmt.Sprintf(`{"cursor":%q}`, cursor))
				for {
					data, err := c.read()
					if err != nil {
						t.Fatal(err)
					}
					if object(t, data)["type"] != each.heartbeat {
						return string(data)
					}
				}
			},
		}
	}
	first := func(e *events) string {
		ev, err := e.next()
		if err != nil {
			t.Fatal(err)
		}
		return ev.data
	}
	position := func(e *events, form *regexp.Regexp) string {
		for {
			block, err := e.block()
			if err != nil {
				t.Fatal(err)
			}
			if found := form.FindStringSubmatch(block); found != nil {
				return found[1]
			}
		}
	}
	distinct := get(t, url, nil, "query", mine)
	list["distinct"] = idler{
		latest: func() string { return position(distinct, regexp.MustCompile(`^id: (\S+)$`)) },
		resume: func(cursor string) string {
			return first(get(t, url, http.Header{"Last-Event-Id": {cursor}}, "query", mine))
		},
	}
	single := func(header http.Header) *events {
		c := as(t, "").reserve(url)
		e := c.open(url)
		maps.Copy(c.header, header)
		c.expect(202, c.post(url, "1", mine))
		return e
	}
	one := single(nil)
	list["single"] = idler{
		latest: func() string { return position(one, regexp.MustCompile(`^: {"cursors":{"1":"(\S+)"}}$`)) },
		resume: func(cursor string) string { return first(single(http.Header{"Last-Event-Id": {cursor}})) },
	}
	return list
}

// A client that is told of nothing for a day, while what it does not see changes
// so often that the log keeps none of it, goes on from what heartbeats say.
func TestAnIdleOperationLearnsNewerCursors(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	hub := newHub(t, p.engine, realtime.Options{KeepAlive: 100 * time.Millisecond, PingEvery: 4 * time.Second}) // who is not read from for 10 s is cut off
	srv := httptest.NewServer(hub.Wrap(http.NotFoundHandler()))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })

	clients := idlers(t, srv.URL)
	began := map[string]string{}
	for name, c := range clients {
		began[name] = c.latest()
	}
	other := p.write(t, "others'")
	for i := range 100 { // the log keeps 64 changes of a record
		p.retitle(t, other, fmt.Sprint("others' ", i))
	}
	now := p.Feed.Now().String()
	learned := map[string]string{}
	for name, c := range clients {
		for learned[name] != now {
			learned[name] = c.latest()
		}
	}
	p.write(t, "mine")
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if got := clients[name].resume(began[name]); !strings.Contains(got, "CURSOR_EXPIRED") {
			t.Errorf("%s: from where it began it got %s", name, got)
		}
		if got := clients[name].resume(learned[name]); !strings.Contains(got, `"title":"mine"`) {
			t.Errorf("%s: from the heartbeat's cursor it got %s", name, got)
		}
	}
}

// retitle changes a post.
func (p *pod) retitle(t *testing.T, id, title string) {
	t.Helper()
	vars, _ := json.Marshal(map[string]any{"id": id, "t": title})
	r := p.engine.Execute(t.Context(), ada, graphql.Request{
		Query:     `mutation($id: ID!, $t: String!) { updatePost(input: {id: $id, title: $t}) { id } }`,
		Variables: vars,
	})
	if r.Failed || strings.Contains(string(r.Body), `"errors"`) {
		t.Fatalf("got %s", r.Body)
	}
}

// A position that was said goes with what was said before it: after an event
// comes no older one, and who has not asked is told none.
func TestPositionsAreToldToThoseWhoListen(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	c := connect(t, p.url, "")
	c.subscribe("1", mine)
	c.send(`{"type":"ping"}`)
	c.expect(`{"type":"pong"}`)
	c = connect(t, p.url, `{"cursors":"of something else"}`)
	c.subscribe("1", mine)
	c.send(`{"type":"ping"}`)
	c.expect(`{"type":"pong"}`)
}

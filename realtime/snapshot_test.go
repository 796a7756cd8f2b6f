package realtime_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource"
	"tidings/schema"
)

const snapshotOf = `subscription { postChanged(snapshot: true, filter: {title: {beginsWith: "a"}}) { kind id post { title } } }`

// told is one result of such a subscription.
type told struct {
	Data *struct {
		PostChanged struct {
			Kind resource.Kind
			ID   string
			Post *struct{ Title string }
		}
	}
	Errors     json.RawMessage
	Extensions struct {
		Cursor   string
		Snapshot struct{ Begin, Complete bool }
	}
}

// listen opens a subscription over either transport. next blocks; false: the
// connection has ended.
func (p *pod) listen(t *testing.T, webSocket bool, cursor string) (next func() (told, bool), end func()) {
	t.Helper()
	if !webSocket {
		h := http.Header{}
		if cursor != "" {
			h.Set("Last-Event-ID", cursor)
		}
		e := get(t, p.url, h, "query", snapshotOf)
		return func() (r told, ok bool) {
			ev, err := e.next()
			if err != nil || ev.name != "next" {
				return r, false
			}
			if json.Unmarshal([]byte(ev.data), &r) != nil {
				return r, false // it was cut off in the middle
			}
			if r.Extensions.Cursor != ev.id {
				t.Errorf("the id %s with %s", ev.id, ev.data)
			}
			return r, true
		}, func() { e.resp.Body.Close() }
	}
	c := connect(t, p.url, "")
	payload, err := json.Marshal(map[string]any{"query": snapshotOf, "extensions": map[string]string{"cursor": cursor}})
	if err != nil {
		t.Fatal(err)
	}
	c.send(`{"id":"1","type":"subscribe","payload":` + string(payload) + `}`)
	return func() (r told, ok bool) {
		data, err := c.read()
		if err != nil {
			return r, false
		}
		var m struct {
			Type    string
			Payload json.RawMessage
		}
		if json.Unmarshal(data, &m) != nil || m.Type != "next" {
			t.Errorf("got %s", data)
			return r, false
		}
		return r, json.Unmarshal(m.Payload, &r) == nil
	}, func() { c.ws.Close() }
}

// Clients come with a snapshot, are cut off anywhere, and go on over the other
// transport on another process, while others write. In the end each has what a
// query says.
func TestSnapshotsOverBothTransportsFoldToTheList(t *testing.T) {
	t.Parallel()
	all := pods(t, 2)
	retitle := func(rng *rand.Rand, id string) {
		cmd := resource.Command{Type: "Post", Verb: resource.Create, Who: auth.Principal{Subject: "root", Roles: schema.Admin}}
		title := string("ab"[rng.IntN(2)]) + fmt.Sprint(rng.IntN(1000))
		cmd.Input = fmt.Appendf(nil, `{"authorId":"ada","title":%q}`, title)
		if id != "" {
			cmd.Verb, cmd.Input = resource.Update, fmt.Appendf(nil, `{"id":%q,"title":%q}`, id, title)
		}
		if id != "" && rng.IntN(6) == 0 {
			cmd.Verb, cmd.Input = resource.Delete, fmt.Appendf(nil, `{"id":%q}`, id)
		}
		_, _ = all[0].Client.Submit(t.Context(), cmd) // it may be deleted already
	}
	ids := func() (list []string) {
		for id := range all[0].titles(t, `{}`) {
			list = append(list, id)
		}
		return list
	}
	first := rand.New(rand.NewPCG(1, 1))
	for range 80 {
		retitle(first, "")
	}
	var writers, readers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 7))
			for range 40 {
				known := ids()
				for range 4 {
					retitle(rng, known[rng.IntN(len(known))])
				}
				retitle(rng, "")
			}
		})
	}
	written := make(chan struct{})
	for n := range 6 {
		readers.Go(func() { keepUp(t, all, uint64(n), written) })
	}
	writers.Wait()
	for _, p := range all {
		if err := p.Client.WaitFor(t.Context(), all[0].Feed.Now().Seq); err != nil {
			t.Error(err)
		}
	}
	close(written)
	readers.Wait()
}

// keepUp mirrors the posts through many cuts, and compares when all is written.
func keepUp(t *testing.T, all []*pod, seed uint64, written <-chan struct{}) {
	rng := rand.New(rand.NewPCG(seed, 2))
	state, cursor := map[string]string{}, ""
	for round := 0; ; round++ {
		over := false
		select {
		case <-written:
			over = true
		default:
		}
		p := all[rng.IntN(len(all))]
		next, end := p.listen(t, rng.IntN(2) == 0, cursor)
		want := map[string]string(nil)
		cut := time.AfterFunc(time.Duration(rng.IntN(300))*time.Millisecond, end)
		if over {
			cut.Stop()
			cut = time.AfterFunc(20*time.Second, end)
			want = p.titles(t, `{title: {beginsWith: "a"}}`)
		}
		for n := rng.IntN(90); (over || n > 0) && (want == nil || !maps.Equal(state, want)); n-- {
			r, ok := next()
			if !ok {
				break
			}
			cursor = r.Extensions.Cursor
			take(t, state, r)
		}
		cut.Stop()
		end()
		if over {
			if !maps.Equal(state, want) {
				t.Errorf("client %d has %d posts after %d rounds, the list %d", seed, len(state), round, len(want))
			}
			return
		}
	}
}

func take(t *testing.T, state map[string]string, r told) {
	t.Helper()
	if r.Extensions.Snapshot.Begin {
		clear(state)
	}
	if r.Errors != nil || r.Data == nil {
		if !r.Extensions.Snapshot.Complete {
			t.Errorf("errors %s", r.Errors)
		}
		return
	}
	c := r.Data.PostChanged
	_, has := state[c.ID]
	switch c.Kind {
	case resource.Deleted, resource.Left:
		if !has {
			t.Errorf("%s of %s, which is not there", c.Kind, c.ID)
		}
		delete(state, c.ID)
	case resource.Updated:
		if !has {
			t.Errorf("%s of %s, which is not there", c.Kind, c.ID)
		}
		state[c.ID] = c.Post.Title
	default:
		if has {
			t.Errorf("%s of %s, which is there", c.Kind, c.ID)
		}
		state[c.ID] = c.Post.Title
	}
}

// titles returns what a query says.
func (p *pod) titles(t *testing.T, filter string) map[string]string {
	t.Helper()
	state, after := map[string]string{}, "null"
	for {
		body := p.engine.Execute(t.Context(), auth.Principal{}, graphql.Request{
			Query: fmt.Sprintf(`{ posts(first: 100, after: %s, filter: %s) { nodes { id title } pageInfo { hasNextPage endCursor } } }`, after, filter)}).Body
		var r struct {
			Data struct {
				Posts *struct {
					Nodes    []struct{ ID, Title string }
					PageInfo struct {
						HasNextPage bool
						EndCursor   string
					}
				}
			}
		}
		if err := json.Unmarshal(body, &r); err != nil || r.Data.Posts == nil {
			t.Errorf("%v: %s", err, body)
			return state
		}
		for _, n := range r.Data.Posts.Nodes {
			state[n.ID] = n.Title
		}
		if !r.Data.Posts.PageInfo.HasNextPage {
			return state
		}
		after = fmt.Sprintf("%q", r.Data.Posts.PageInfo.EndCursor)
	}
}

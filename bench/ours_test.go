package bench_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/view"
)

// The records: so many users, each with so many posts. The list asks for a
// part of them.
const (
	users = 50
	posts = 10
)

// who asks may see every field, so that every rule is looked at and passed.
var who = auth.Principal{Subject: "admin", Roles: schema.Admin}

//go:embed held.graphql
var heldSchema []byte

// service is Tidings in one process: the bus in memory, a worker, a feed with
// its view in SQLite, an engine.
type service struct {
	*resourcetest.Service
	engine *graphql.Engine
	held   held
}

// held are records that functions answer with: what is left of an execution
// when nothing has to be read.
type held struct {
	user, users, change json.RawMessage
	changes             chan int // each asks for so many events
}

func newService(t testing.TB) *service {
	t.Helper()
	social, err := os.ReadFile("../examples/social/schema.graphql")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{Service: resourcetest.New(t, fstest.MapFS{
		"social.graphql": {Data: social},
		"held.graphql":   {Data: heldSchema},
	})}
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: s.held.functions()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	s.fill(t)
	s.hold(t)
	return s
}

func (h *held) functions() map[string]graphql.Function {
	answer := func(raw *json.RawMessage) graphql.Function {
		return graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return *raw, nil }}
	}
	h.changes = make(chan int)
	return map[string]graphql.Function{
		"Query.heldUser":  answer(&h.user),
		"Query.heldUsers": answer(&h.users),
		"Subscription.heldChanged": {Subscribe: func(ctx context.Context, _ graphql.Call) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) { h.ask(ctx, yield) }
		}},
	}
}

// ask yields the same change as often as it is asked to, until ctx ends.
func (h *held) ask(ctx context.Context, yield func(any, error) bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-h.changes:
			for range n {
				if !yield(h.change, nil) {
					return
				}
			}
		}
	}
}

// fill creates the records by commands.
func (s *service) fill(t testing.TB) {
	t.Helper()
	var last resource.Record
	for u := range users {
		last = s.submit(t, "User", resource.Create, fmt.Sprintf(
			`{"id":"user-%04d","name":"User number %d","email":"user%d@example.org","adminNotes":"Joined by invitation.","avatar":"https://example.org/avatars/%d.png"}`, u, u, u, u))
		for p := range posts {
			last = s.submit(t, "Post", resource.Create, fmt.Sprintf(
				`{"authorId":"user-%04d","title":"Post %d of user %d, with a title of some length","excerpt":"What it says in short.","body":"What it says in full: a paragraph of plain text, as people write it.","kind":"NOTE","tags":["first","second"],"minutes":%d}`, u, p, u, p%9+1))
		}
	}
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
}

// submit carries out one command.
func (s *service) submit(t testing.TB, typ string, verb resource.Verb, input string) resource.Record {
	t.Helper()
	r, err := s.Client.Submit(t.Context(), resource.Command{Type: typ, Verb: verb, Who: who, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hold takes the records that the functions answer with from the view.
func (s *service) hold(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	page, err := s.View.List(ctx, view.Query{Type: "User", First: 20})
	if err != nil {
		t.Fatal(err)
	}
	relation := s.Model.Resource("User").Field("posts").Relation
	nodes := make([]string, len(page.Records))
	for i, user := range page.Records {
		lists, err := s.View.Related(ctx, view.Related{Relation: relation, Parents: []string{fmt.Sprintf("user-%04d", i)}, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		nodes[i] = fmt.Sprintf(`%s,"posts":[%s]}`, bytes.TrimSuffix(user, []byte("}")), bytes.Join(lists[0], []byte(",")))
	}
	s.held.user = page.Records[7]
	s.held.users = fmt.Appendf(nil, `{"nodes":[%s]}`, strings.Join(nodes, ","))
	s.held.change = fmt.Appendf(nil, `{"kind":"UPDATED","id":"user-0007","at":"2026-11-20T07:25:22.5Z","cursor":"AbCdEfGh.123456","user":%s}`, page.Records[7])
}

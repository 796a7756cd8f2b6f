package graphql_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/quota"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// posts asks for as many posts as there are titles.
func posts(key string, together bool, titles ...string) graphql.Many {
	m := graphql.Many{Request: graphql.Request{Query: `mutation($title: String!) { createPost(input: {title: $title}) { id title } }`, IdempotencyKey: key}, Together: together}
	for _, title := range titles {
		m.Variables = append(m.Variables, fmt.Appendf(nil, `{"title":%q}`, title))
	}
	return m
}

func bodies(a graphql.Answers) string {
	if a.Refused != nil {
		return "refused " + string(a.Refused.Body)
	}
	return string(bytes.Join(jsons(a.Items), []byte("\n")))
}

func jsons(items []json.RawMessage) [][]byte {
	list := make([][]byte, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}

func TestManyMutationsAreOneRequestOfTheirCaller(t *testing.T) {
	t.Parallel()
	plain := newService(t, graphql.Options{})
	limited := func(l graphql.Limits, r quota.Rate) *service {
		return plain.with(t, graphql.Options{Limits: l, Quota: quota.New(nil, quota.Options{User: r})})
	}
	titles := strings.Split(strings.Repeat("t ", 50), " ")[:50]
	before := plain.end(t)
	s := limited(graphql.Limits{}, quota.Rate{Requests: 1})
	if a := s.engine.ExecuteMany(t.Context(), ada, posts("", false, titles...)); a.Refused != nil || len(a.Items) != 50 || plain.end(t) != before+50 {
		t.Errorf("%s", bodies(a))
	}
	if a := s.engine.ExecuteMany(t.Context(), ada, posts("", false, "t")); a.Refused == nil || a.Refused.Code != fault.RateLimited || a.Refused.RetryAfter == 0 {
		t.Errorf("one more: %s", bodies(a))
	}
	before = plain.end(t)
	for what, refused := range map[string]struct {
		s    *service
		code fault.Code
	}{
		"the budget": {limited(graphql.Limits{Cost: graphql.Budgets{User: 500}}, quota.Rate{}), fault.CostLimitExceeded},
		"the rate":   {limited(graphql.Limits{}, quota.Rate{Cost: 500}), fault.RateLimited},
	} {
		if what == "the rate" { // who has used nothing lately may spend more than that at once
			refused.s.engine.ExecuteMany(t.Context(), ada, posts("", false, "t"))
			before++
		}
		for _, together := range []bool{false, true} {
			if a := refused.s.engine.ExecuteMany(t.Context(), ada, posts("", together, titles...)); a.Refused == nil || a.Refused.Code != refused.code {
				t.Errorf("%s: %s", what, bodies(a))
			}
		}
	}
	for _, query := range []string{`{ posts { totalCount } }`, `mutation { a: deletePost(input: {id: "x"}) { id } b: deletePost(input: {id: "y"}) { id } }`} {
		m := graphql.Many{Request: graphql.Request{Query: query}, Variables: []json.RawMessage{[]byte(`{}`)}}
		if a := plain.engine.ExecuteMany(t.Context(), ada, m); a.Refused == nil || a.Refused.Code != fault.BadRequest {
			t.Errorf("%s: %s", query, bodies(a))
		}
	}
	if now := plain.end(t); now != before {
		t.Errorf("what was refused wrote %d times", now-before)
	}
}

func TestManyMutationsUnderOneKeyAreCarriedOutOnce(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		s := keeping(t, graphql.Options{Timeout: 300 * time.Millisecond})
		store := &dying{Store: answers(t, s.Bus)}
		store.writes.Store(1) // the claim is kept, and the answer is not
		dies := s.with(t, graphql.Options{Timeout: 300 * time.Millisecond, Answers: store})
		before := s.end(t)
		m := posts("k", together, "a", "b", "c")
		first := dies.engine.ExecuteMany(t.Context(), ada, m)
		for n, replayed := range []bool{false, true} {
			again := s.engine.ExecuteMany(t.Context(), ada, m)
			if bodies(again) != bodies(first) || again.Replayed != replayed || s.end(t) != before+3 {
				t.Errorf("together %t, again %d: %d writes\n%s\nfirst\n%s", together, n, s.end(t)-before, bodies(again), bodies(first))
			}
		}
		for what, other := range map[string]graphql.Many{"one more": posts("k", together, "a", "b", "c", "d"), "another way": posts("k", !together, "a", "b", "c")} {
			if a := s.engine.ExecuteMany(t.Context(), ada, other); a.Refused == nil || a.Refused.Code != fault.Conflict {
				t.Errorf("%s: %s", what, bodies(a))
			}
		}
	}
}

func TestARefusalOfManyIsKeptToo(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	m := posts("k", true, "a", strings.Repeat("x", 100_000))
	first := s.engine.ExecuteMany(t.Context(), ada, m)
	again := s.engine.ExecuteMany(t.Context(), ada, m)
	if !first.Undone || !again.Undone || !again.Replayed || bodies(first) != bodies(again) || first.Items[0] != nil || first.Items[1] == nil {
		t.Errorf("first %s\nagain %s", bodies(first), bodies(again))
	}
}

// mortal is a worker that is killed after its appends, as long as there are
// deaths: its callers get no answer.
func mortal(t *testing.T, b *bus.Bus, m *schema.Model, deaths int64) {
	t.Helper()
	w := resource.NewWorker(b, m, resource.WorkerOptions{})
	var left atomic.Int64
	left.Store(deaths)
	started, buried := make(chan struct{}), make(chan struct{})
	type record struct {
		Record json.RawMessage `json:"record"`
		Seq    uint64          `json:"seq"`
	}
	type command struct {
		ID      string            `json:"id"`
		Who     auth.Principal    `json:"who"`
		Input   json.RawMessage   `json:"input"`
		Once    *resource.Once    `json:"once"`
		Changes []resource.Change `json:"changes"`
	}
	endpoint := func(name, subject string, carry func(context.Context, command) (any, error)) bus.Endpoint {
		return bus.Endpoint{Name: name, Subject: subject, Handle: func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
			var q command
			if err := json.Unmarshal(m.Data, &q); err != nil {
				return nil, nil, err
			}
			answer, err := carry(ctx, q)
			if err == nil && left.Add(-1) >= 0 {
				<-buried
			}
			body, _ := json.Marshal(answer)
			return body, nil, err
		}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = b.Serve(ctx, bus.Service{Name: "worker", Concurrency: 16, Started: func() { close(started) }, Endpoints: []bus.Endpoint{
			endpoint("create", b.Subjects().Command("Post", "create"), func(ctx context.Context, q command) (any, error) {
				r, err := w.Carry(ctx, resource.Command{Type: "Post", Verb: resource.Create, ID: q.ID, Who: q.Who, Input: q.Input, Once: q.Once})
				return record{r.Raw, r.Seq}, err
			}),
			endpoint("transaction", b.Subjects().Transaction(), func(ctx context.Context, q command) (any, error) {
				records, err := w.CarryAll(ctx, resource.Transaction{ID: q.ID, Who: q.Who, Changes: q.Changes, Once: q.Once})
				list := make([]record, len(records))
				for i, r := range records {
					list[i] = record{r.Raw, r.Seq}
				}
				return map[string]any{"records": list}, err
			}),
		}})
	})
	t.Cleanup(func() { close(buried); cancel(); wg.Wait() })
	<-started
}

// Workers die between their appends and their answers, in the middle of a batch;
// the next sending finishes it, and writes nothing twice.
func TestManyThatAreCutOffAreFinishedByTheNextSending(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		b := bustest.New(t)
		pod := resourcetest.Reader(t, b, socialDir(t), resource.FeedOptions{})
		mortal(t, b, pod.Model, map[bool]int64{false: 3, true: 1}[together])
		s := (&service{Service: pod}).with(t, graphql.Options{Timeout: 400 * time.Millisecond, Answers: answers(t, b)})
		m := posts("k", together, "a", "b", "c", "d", "e")
		if first := s.engine.ExecuteMany(t.Context(), ada, m); !strings.Contains(bodies(first), "TIMEOUT") {
			t.Fatalf("together %t: %s", together, bodies(first))
		}
		again := s.engine.ExecuteMany(t.Context(), ada, m)
		for i, title := range []string{"a", "b", "c", "d", "e"} {
			if again.Refused != nil || !strings.Contains(string(again.Items[i]), `"title":"`+title+`"`) {
				t.Fatalf("together %t: %s", together, bodies(again))
			}
		}
		if n := s.end(t); n != 5 {
			t.Errorf("together %t: five posts were written %d times", together, n)
		}
	}
}

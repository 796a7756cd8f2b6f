package graphql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

func answers(t testing.TB, b *bus.Bus) *bus.Bucket {
	t.Helper()
	k, err := b.Bucket(t.Context(), bus.BucketOptions{Name: "answers"})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// keeping is a service that keeps answers, and its users.
func keeping(t testing.TB, o graphql.Options) *service {
	t.Helper()
	s := newService(t, graphql.Options{})
	o.Answers = answers(t, s.Bus)
	return s.with(t, o)
}

func (s *service) end(t testing.TB) uint64 {
	t.Helper()
	_, last, err := s.Bus.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return last
}

const newPost = `mutation($title: String!) { createPost(input: {title: $title}) { id title author { name } } }`

func post(title, key string) graphql.Request {
	return graphql.Request{Query: newPost, Variables: fmt.Appendf(nil, `{"title":%q}`, title), IdempotencyKey: key}
}

func TestTheSameKeyGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	body := fmt.Sprintf(`{"query":%q,"variables":{"title":"<T>"}}`, newPost)
	first := send(t, s, ada, body, "Idempotency-Key", `"k-1"`)
	last := s.end(t)
	again := send(t, s, ada, body, "Idempotency-Key", `k-1`)
	if first.Body.String() != again.Body.String() || !strings.Contains(first.Body.String(), `"ada!"`) {
		t.Errorf("first %s\nagain %s", first.Body, again.Body)
	}
	if first.Header().Get("Idempotency-Replayed") != "" || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("first %v, again %v", first.Header(), again.Header())
	}
	if at := again.Header().Get("Tidings-Position"); at == "" || at != first.Header().Get("Tidings-Position") {
		t.Errorf("positions %q, %q", first.Header().Get("Tidings-Position"), at)
	}
	socket := s.engine.Execute(t.Context(), ada, graphql.Request{Query: newPost, Variables: json.RawMessage(`{"title":"<T>"}`), Extensions: json.RawMessage(`{"idempotencyKey":"k-1"}`)})
	if !socket.Replayed || string(socket.Body) != first.Body.String() {
		t.Errorf("by the extensions: %s", socket.Body)
	}
	if s.end(t) != last {
		t.Error("it was written again")
	}
	if r := s.engine.Execute(t.Context(), ben, post("<T>", "k-1")); r.Replayed || r.Code != "" {
		t.Errorf("somebody else's key: %s", r.Body)
	}
	if r := s.engine.Execute(t.Context(), ada, post("<T>", "k-2")); r.Replayed || r.Code != "" {
		t.Errorf("another key: %s", r.Body)
	}
}

func TestTheSameKeyForAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	s.engine.Execute(t.Context(), ada, post("T", "k"))
	last := s.end(t)
	promoted := auth.Principal{Subject: "ada", Roles: ada.Roles | admin.Roles}
	for name, r := range map[string]graphql.Response{
		"other variables": s.engine.Execute(t.Context(), ada, post("U", "k")),
		"other rights":    s.engine.Execute(t.Context(), promoted, post("T", "k")),
		"other document":  s.engine.Execute(t.Context(), ada, graphql.Request{Query: `mutation { deletePost(input: {id: "x"}) { id } }`, IdempotencyKey: "k"}),
	} {
		if r.Code != fault.Conflict || !r.Failed {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	if s.end(t) != last {
		t.Error("it was carried out")
	}
}

func TestARefusalIsKeptToo(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	r := graphql.Request{Query: `mutation { deletePost(input: {id: "` + s.posts[1] + `"}) { id } }`, IdempotencyKey: "k"}
	first := s.engine.Execute(t.Context(), ada, r)
	again := s.engine.Execute(t.Context(), ada, r)
	if first.Code != fault.Forbidden || again.Code != fault.Forbidden || !again.Replayed || string(first.Body) != string(again.Body) {
		t.Errorf("first %s\nagain %s", first.Body, again.Body)
	}
}

// Nobody pays for a name that is none: who has one must still find room when
// others have used up what there is for them.
func TestKeysOfNobodyLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	k, err := s.Bus.Bucket(t.Context(), bus.BucketOptions{Name: "answers", MaxBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	s = s.with(t, graphql.Options{Answers: k})
	kept := post("spam", "0")
	first := s.engine.Execute(t.Context(), auth.Principal{}, kept)
	for n := 1; ; n++ {
		got := s.engine.Execute(t.Context(), auth.Principal{}, post("spam", fmt.Sprint(n)))
		if got.Code == fault.Unavailable {
			break
		}
		if n > 200 {
			t.Fatalf("%s", got.Body)
		}
	}
	if got := s.engine.Execute(t.Context(), ada, post("ham", "k")); got.Failed {
		t.Errorf("a user: %s", got.Body)
	}
	if again := s.engine.Execute(t.Context(), auth.Principal{}, kept); !again.Replayed || string(again.Body) != string(first.Body) {
		t.Errorf("what is kept: %s", again.Body)
	}
}

func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	for _, key := range []string{`""`, `"`, `"a`, `"a"b`, `"a\b"`, strings.Repeat("k", 256), "ü", " "} {
		w := send(t, s, ada, query(`mutation { createPost(input: {title: "T"}) { id } }`), "Idempotency-Key", key)
		if !strings.Contains(w.Body.String(), "BAD_REQUEST") || w.Code != 400 {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
	}
	if w := send(t, s, ada, query(adaName), "Idempotency-Key", "a", "Idempotency-Key", "b"); w.Code != 400 {
		t.Errorf("two keys: %s", w.Body)
	}
	if w := send(t, s, ada, query(adaName), "Idempotency-Key", "a"); w.Code != 200 || w.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("a query: %s", w.Body)
	}
	without := s.with(t, graphql.Options{})
	if r := without.engine.Execute(t.Context(), ada, post("T", "k")); r.Code != fault.BadRequest || !r.Failed {
		t.Errorf("without a store: %s", r.Body)
	}
	away := s.with(t, graphql.Options{Answers: broken{}})
	if r := away.engine.Execute(t.Context(), ada, post("T", "k")); r.Code != fault.Unavailable || !r.Failed {
		t.Errorf("with a store that is away: %s", r.Body)
	}
}

func TestOfManyWithOneKeyOneWrites(t *testing.T) {
	t.Parallel()
	one := keeping(t, graphql.Options{})
	two := one.with(t, graphql.Options{Answers: answers(t, one.Bus)})
	before := one.end(t)
	var wg sync.WaitGroup
	bodies := make([]string, 16)
	for i := range bodies {
		wg.Go(func() {
			s := []*service{one, two}[i%2]
			bodies[i] = string(s.engine.Execute(t.Context(), ada, post("T", "k")).Body)
		})
	}
	wg.Wait()
	for _, body := range bodies {
		if body != bodies[0] || !strings.Contains(body, `"title":"T"`) {
			t.Errorf("%s\nand\n%s", body, bodies[0])
		}
	}
	if now := one.end(t); now != before+1 {
		t.Errorf("it was written %d times", now-before)
	}
}

// dying is the store of a process that dies before its n-th write.
type dying struct {
	graphql.Store
	writes atomic.Int64
}

func (d *dying) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if d.writes.Add(-1) < 0 {
		return 0, errors.New("killed")
	}
	return d.Store.Put(ctx, key, value, revision)
}

func TestAProcessThatDiesBeforeItKeepsTheAnswerHasNotWrittenTwice(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{Timeout: 300 * time.Millisecond})
	both := `mutation { a: createPost(input: {title: "A"}) { id title } b: updatePost(input: {id: "` + s.posts[0] + `", title: "B"}) { id title }
		c: deletePost(input: {id: "` + s.posts[2] + `"}) { id title author { name } } }`
	store := &dying{Store: answers(t, s.Bus)}
	store.writes.Store(1)
	dies := s.with(t, graphql.Options{Timeout: 300 * time.Millisecond, Answers: store})
	before := s.end(t)
	first := dies.engine.Execute(t.Context(), ada, graphql.Request{Query: both, IdempotencyKey: "k"})
	if now := s.end(t); now != before+3 || first.Code != "" {
		t.Fatalf("%d writes: %s", now-before, first.Body)
	}
	s.run(t, ada, `mutation { updatePost(input: {id: "`+s.posts[0]+`", title: "later"}) { id } }`, "")
	again := s.engine.Execute(t.Context(), ada, graphql.Request{Query: both, IdempotencyKey: "k"})
	if string(again.Body) != string(first.Body) || again.Replayed {
		t.Errorf("first %s\nagain %s", first.Body, again.Body)
	}
	third := s.engine.Execute(t.Context(), ada, graphql.Request{Query: both, IdempotencyKey: "k"})
	if string(third.Body) != string(first.Body) || !third.Replayed || third.Position != first.Position {
		t.Errorf("first %s\nthird %s", first.Body, third.Body)
	}
	if now := s.end(t); now != before+4 {
		t.Errorf("%d writes", now-before)
	}
}

func TestAProcessThatDiesBeforeItWritesLeavesTheKeyToOthers(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{Timeout: 300 * time.Millisecond})
	store := &dying{Store: answers(t, s.Bus)}
	dies := s.with(t, graphql.Options{Answers: store})
	before := s.end(t)
	if r := dies.engine.Execute(t.Context(), ada, post("T", "k")); r.Code != fault.Unavailable || s.end(t) != before {
		t.Fatalf("%s", r.Body)
	}
	if r := s.engine.Execute(t.Context(), ada, post("T", "k")); r.Code != "" || s.end(t) != before+1 {
		t.Errorf("%s", r.Body)
	}
}

// A worker is killed between its append and its answer, as long as there are
// deaths; the process that asked it tells its caller that nobody knows.
func TestAWorkerThatDiesAfterItsAppendHasNotWrittenTwice(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	pod := resourcetest.Reader(t, b, socialDir(t), resource.FeedOptions{})
	w := resource.NewWorker(b, pod.Model, resource.WorkerOptions{})
	var deaths atomic.Int64
	deaths.Store(1)
	started, buried := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		err := b.Serve(ctx, bus.Service{Name: "worker", Concurrency: 4, Started: func() { close(started) }, Endpoints: []bus.Endpoint{{
			Name: "create", Subject: b.Subjects().Command("Post", "create"),
			Handle: func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
				var q struct {
					ID    string          `json:"id"`
					Who   auth.Principal  `json:"who"`
					Input json.RawMessage `json:"input"`
					Once  *resource.Once  `json:"once"`
				}
				if err := json.Unmarshal(m.Data, &q); err != nil {
					return nil, nil, err
				}
				r, err := w.Carry(ctx, resource.Command{Type: "Post", Verb: resource.Create, ID: q.ID, Who: q.Who, Input: q.Input, Once: q.Once})
				if err == nil && deaths.Add(-1) >= 0 {
					<-buried
				}
				body, _ := json.Marshal(map[string]any{"record": json.RawMessage(r.Raw), "seq": r.Seq})
				return body, nil, err
			},
		}}})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { close(buried); cancel(); wg.Wait() })
	<-started
	s := (&service{Service: pod}).with(t, graphql.Options{Timeout: 300 * time.Millisecond, Answers: answers(t, b)})
	request := graphql.Request{Query: `mutation { createPost(input: {title: "T"}) { id title } }`, IdempotencyKey: "k"}
	if r := s.engine.Execute(t.Context(), ada, request); r.Code != fault.Timeout || s.end(t) != 1 {
		t.Fatalf("%s; the log ends at %d", r.Body, s.end(t))
	}
	r := s.engine.Execute(t.Context(), ada, request)
	if r.Code != "" || s.end(t) != 1 || r.Position != (resource.Position{Log: b.LogID(), Seq: 1}).String() {
		t.Errorf("%s at %s; the log ends at %d", r.Body, r.Position, s.end(t))
	}
}

func TestWhoHangsUpComesBackForTheAnswer(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	store := &hangUp{Store: answers(t, s.Bus), cancel: cancel}
	first := s.with(t, graphql.Options{Answers: store}).engine.Execute(ctx, ada, post("T", "k"))
	again := s.engine.Execute(t.Context(), ada, post("T", "k"))
	if !again.Replayed || again.Code != "" || string(first.Body) != string(again.Body) {
		t.Errorf("%s\n%s", first.Body, again.Body)
	}
}

// hangUp ends the caller's context once its key is claimed.
type hangUp struct {
	graphql.Store
	cancel context.CancelFunc
}

func (h *hangUp) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	defer h.cancel()
	return h.Store.Put(ctx, key, value, revision)
}

func TestALargeAnswerIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	large := `mutation {`
	body := strings.Repeat("x", 20_000)
	for i := range 15 {
		large += fmt.Sprintf(`p%d: createPost(input: {title: "T", body: %q}) { body } `, i, body)
	}
	request := graphql.Request{Query: large + "}", IdempotencyKey: "k"}
	first := s.engine.Execute(t.Context(), admin, request)
	last := s.end(t)
	again := s.engine.Execute(t.Context(), admin, request)
	if first.Code != "" || len(first.Body) < 256<<10 {
		t.Fatalf("%d bytes, %.300s", len(first.Body), first.Body)
	}
	if string(first.Body) != string(again.Body) || again.Replayed || s.end(t) != last {
		t.Errorf("%.300s", again.Body)
	}
}

// What a function does leaves no trace that could be looked for: it is not
// called again while nobody knows whether it was.
func TestAFunctionIsNotCalledAgainInDoubt(t *testing.T) {
	t.Parallel()
	dir := socialDir(t)
	dir["charge.graphql"] = &fstest.MapFile{Data: []byte(`type Mutation { charge(n: Int!): Int }`)}
	var calls atomic.Int64
	own := functions()
	own["Mutation.charge"] = graphql.Function{Resolve: func(_ context.Context, c graphql.Call) (any, error) {
		calls.Add(1)
		return c.Args["n"], nil
	}}
	s := &service{Service: resourcetest.New(t, dir)}
	store := &dying{Store: answers(t, s.Bus)}
	store.writes.Store(1)
	s = s.with(t, graphql.Options{Functions: own, Answers: store, Timeout: 100 * time.Millisecond})
	request := graphql.Request{Query: `mutation { charge(n: 7) }`, IdempotencyKey: "k"}
	if r := s.engine.Execute(t.Context(), ada, request); string(r.Body) != `{"data":{"charge":7}}` {
		t.Fatalf("%s", r.Body)
	}
	store.writes.Store(100)
	for range 2 {
		if r := s.engine.Execute(t.Context(), ada, request); r.Code != fault.Conflict || calls.Load() != 1 {
			t.Errorf("%d calls: %s", calls.Load(), r.Body)
		}
	}
	request.IdempotencyKey = "k-2"
	for range 2 {
		if r := s.engine.Execute(t.Context(), ada, request); r.Code != "" || calls.Load() != 2 {
			t.Errorf("%d calls: %s", calls.Load(), r.Body)
		}
	}
}

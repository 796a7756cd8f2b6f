package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// inbox is a sink that remembers.
type inbox struct {
	mu       sync.Mutex
	payloads [][]byte
	cursors  []string
	ended    bool
	errors   string
	most     int           // Next is false from here on; 0: never
	gate     chan struct{} // Ready takes from it; nil: always ready
	moved    chan struct{} // told of every change
}

func newInbox() *inbox { return &inbox{moved: make(chan struct{}, 1)} }

func (b *inbox) Next(payload []byte, cursor string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.tell()
	if b.most > 0 && len(b.payloads) == b.most {
		return false
	}
	b.payloads, b.cursors = append(b.payloads, payload), append(b.cursors, cursor)
	return true
}

func (b *inbox) End(errors []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.tell()
	if b.ended {
		panic("ended twice")
	}
	b.ended, b.errors = true, string(errors)
}

func (b *inbox) Ready(ctx context.Context) error {
	if b.gate == nil {
		return nil
	}
	select {
	case <-b.gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *inbox) tell() {
	select {
	case b.moved <- struct{}{}:
	default:
	}
}

func (b *inbox) seqs(t testing.TB) []uint64 {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	seqs := make([]uint64, len(b.cursors))
	for i, c := range b.cursors {
		p, err := resource.ParsePosition(c)
		if err != nil {
			t.Fatal(err)
		}
		seqs[i] = p.Seq
	}
	return seqs
}

// cursor returns that of one result. A later Next may be under way.
func (b *inbox) cursor(i int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cursors[i]
}

func (b *inbox) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.payloads)
}

func (b *inbox) over() (errors string, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.errors, b.ended
}

// await waits until the condition holds of what has come in.
func (b *inbox) await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(10 * time.Millisecond) // it may be of something else that changes later
	defer again.Stop()
	for !condition() {
		select {
		case <-b.moved:
		case <-again.C:
		case <-deadline:
			errors, ended := b.over()
			t.Fatalf("%s: it never happened; %d have come, ended %v %s", what, b.count(), ended, errors)
		}
	}
}

func (b *inbox) awaitCount(t testing.TB, n int) {
	t.Helper()
	b.await(t, fmt.Sprintf("%d results", n), func() bool { return b.count() >= n })
}

func (b *inbox) awaitEnd(t testing.TB, code fault.Code) {
	t.Helper()
	b.await(t, "the end", func() bool { _, ended := b.over(); return ended })
	if errors, _ := b.over(); !strings.Contains(errors, string(code)) {
		t.Fatalf("ended with %s, want %s", errors, code)
	}
}

const postChanged = `subscription { postChanged { kind cursor post { id title } } }`

func newLive(t testing.TB, o resource.FeedOptions, functions map[string]graphql.Function) *service {
	t.Helper()
	if functions == nil {
		functions = allFunctions()
	}
	s := &service{Service: resourcetest.On(t, bustest.New(t), socialDir(t), o)}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: functions}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	return s
}

// allFunctions has a count that yields 1 to target.
func allFunctions() map[string]graphql.Function {
	list := functions()
	list["Subscription.count"] = graphql.Function{Subscribe: func(ctx context.Context, c graphql.Call) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			target, _ := c.Args["target"].(int64)
			for n := range target {
				if !yield(n+1, nil) {
					return
				}
			}
		}
	}}
	return list
}

func (s *service) subscribe(t testing.TB, who auth.Principal, query, after string, b *inbox) (stop func()) {
	t.Helper()
	stop, failed := s.engine.Subscribe(t.Context(), who, graphql.Request{Query: query}, after, b)
	if failed != nil {
		t.Fatalf("refused: %s", failed.Body)
	}
	return stop
}

// post creates a post and waits until this process shows it.
func (s *service) post(t testing.TB, title string) resource.Record {
	t.Helper()
	r := s.submit(t, "Post", fmt.Sprintf(`{"authorId":"ada","title":%q}`, title))
	s.awaitSeq(t, r.Seq)
	return r
}

// manyPosts creates n posts, many at a time.
func (s *service) manyPosts(t testing.TB, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for part := range slices.Chunk(make([]struct{}, n), (n+15)/16) {
		wg.Go(func() {
			for range part {
				s.post(t, "x")
			}
		})
	}
	wg.Wait()
}

func TestEqualSubscriptionsAreExecutedOnce(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	var boxes []*inbox
	for i := range 100 {
		b := newInbox()
		s.subscribe(t, auth.Principal{Subject: fmt.Sprint("user", i), Roles: ada.Roles}, postChanged, "", b)
		boxes = append(boxes, b)
	}
	for i := range 20 {
		s.post(t, fmt.Sprint(i))
	}
	for _, b := range boxes {
		b.awaitCount(t, 20)
		for i := range 20 {
			if &b.payloads[i][0] != &boxes[0].payloads[i][0] {
				t.Fatal("equal results were encoded more than once")
			}
		}
	}
	if got := s.engine.Stats(); got.Groups != 1 || got.Sinks != 100 || got.Executions != 20 || got.Deliveries != 2000 {
		t.Errorf("%+v", got)
	}
}

func TestSubscribersWhomRulesTellApartAreExecutedApart(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	const private = `subscription { userChanged(id: "ada") { user { id email } } }`
	own, other, again, none, boss := newInbox(), newInbox(), newInbox(), newInbox(), newInbox()
	for _, sub := range []struct {
		who auth.Principal
		box *inbox
	}{{ada, own}, {ben, other}, {ben, again}, {nobody, none}, {admin, boss}} {
		s.subscribe(t, sub.who, private, "", sub.box)
	}
	s.create(t, "User", `{"id":"ben","name":"Ben","email":"ben@example.org"}`)
	s.create(t, "User", `{"id":"ada","name":"Ada","email":"ada@example.org"}`)
	for box, sees := range map[*inbox]bool{own: true, other: false, again: false, none: false, boss: true} {
		box.awaitCount(t, 1)
		if got := strings.Contains(string(box.payloads[0]), "ada@example.org"); got != sees {
			t.Errorf("sees the address: %v, want %v: %s", got, sees, box.payloads[0])
		}
	}
	if got := s.engine.Stats(); got.Groups != 4 || got.Executions != 4 {
		t.Errorf("%+v, want 4 groups that were executed once, for the one event with their id", got)
	}
}

func TestSubscriptionIsRefused(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	here := s.Feed.Now()
	cases := []struct {
		name, query, after string
		code               fault.Code
	}{
		{"a query", `{ __typename }`, "", fault.BadRequest},
		{"not GraphQL", `{`, "", fault.ParseFailed},
		{"unknown field", `subscription { x }`, "", fault.ValidationFailed},
		{"malformed cursor", postChanged, "yesterday", fault.BadUserInput},
		{"cursor of another log", postChanged, resource.Position{Log: "other", Seq: here.Seq}.String(), fault.CursorExpired},
		{"empty id", `subscription { postChanged(id: "") { kind } }`, "", fault.ValidationFailed},
	}
	for _, c := range cases {
		stop, failed := s.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: c.query}, c.after, newInbox())
		if stop != nil || failed == nil || failed.Code != c.code || !failed.Failed {
			t.Errorf("%s: got %+v, want %s", c.name, failed, c.code)
		}
	}
	beyond := newInbox()
	s.subscribe(t, nobody, postChanged, resource.Position{Log: here.Log, Seq: here.Seq + 1000}.String(), beyond)
	beyond.awaitEnd(t, fault.CursorExpired)
}

func TestTrimmedEventsAreToldAndNotSkipped(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{Ring: 4}, nil)
	start := s.Feed.Now().String()
	post := object(t, s.post(t, "0").Raw)
	var last resource.Record
	for i := range 70 { // more than the history of one record
		r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Post", Verb: resource.Update, Who: admin,
			Input: fmt.Appendf(nil, `{"id":%q,"title":"%d"}`, post["id"], i+1)})
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	b := newInbox()
	s.subscribe(t, nobody, postChanged, start, b)
	b.awaitEnd(t, fault.CursorExpired)
}

func object(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A slow sink that catches up must not delay the others, nor lose or double
// anything when it has caught up.
func TestSlowReplayDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{Ring: 16}, nil)
	start := s.Feed.Now().String()
	s.manyPosts(t, 300)
	slow, live := newInbox(), newInbox()
	slow.gate = make(chan struct{})
	s.subscribe(t, nobody, postChanged, start, slow)
	s.subscribe(t, nobody, postChanged, "", live)
	s.manyPosts(t, 300) // more than is held for the slow one
	live.awaitCount(t, 300)
	if n := slow.count(); n != 0 {
		t.Errorf("%d results went to a sink that was not ready", n)
	}
	close(slow.gate)
	slow.awaitCount(t, 600)
	s.post(t, "last")
	live.awaitCount(t, 301)
	slow.awaitCount(t, 601)
	got := slow.seqs(t)
	if !ascending(got) || len(got) != 601 || !slices.Equal(got[300:], live.seqs(t)) {
		t.Errorf("the slow one got %d, then the same as the live one: %v", got, live.seqs(t))
	}
}

// started is a sink that remembers where it began.
type started struct {
	*inbox
	cursor string
}

func (s *started) Start(cursor string) { s.cursor = cursor }

func TestWhoSawNothingYetCanResumeToo(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	s.post(t, "before")
	first := &started{inbox: newInbox()}
	stop, failed := s.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: postChanged}, "", first)
	if failed != nil {
		t.Fatalf("refused: %s", failed.Body)
	}
	stop()
	want := s.post(t, "after").Seq
	b := newInbox()
	s.subscribe(t, nobody, postChanged, first.cursor, b)
	b.awaitCount(t, 1)
	if got := b.seqs(t); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %d", got, want)
	}
}

func TestSinkThatTakesNoMoreIsLetGo(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	start := s.Feed.Now().String()
	for i := range 5 {
		s.post(t, fmt.Sprint(i))
	}
	live, replayed := newInbox(), newInbox()
	live.most, replayed.most = 2, 2
	s.subscribe(t, nobody, postChanged, "", live)
	stop := s.subscribe(t, nobody, postChanged, start, replayed)
	for i := range 5 {
		s.post(t, fmt.Sprint(i))
	}
	live.await(t, "both gone", func() bool { return s.engine.Stats().Sinks == 0 })
	stop() // twice is no harm
	stop()
	if got := s.engine.Stats(); got.Groups != 0 || live.count() != 2 || replayed.count() != 2 {
		t.Errorf("%+v, %d, %d", got, live.count(), replayed.count())
	}
}

func TestFunctionSubscription(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	list := allFunctions()
	count := list["Subscription.count"].Subscribe
	list["Subscription.count"] = graphql.Function{Subscribe: func(ctx context.Context, c graphql.Call) iter.Seq2[any, error] {
		switch c.Args["target"].(int64) {
		case -1:
			panic("no")
		case -2:
			return func(yield func(any, error) bool) { yield(nil, fault.New(fault.Unavailable, "not now")) }
		case -3:
			return func(yield func(any, error) bool) {
				yield(1, nil)
				<-ctx.Done()
				close(stopped)
			}
		}
		return count(ctx, c)
	}}
	s := newLive(t, resource.FeedOptions{}, list)
	b := newInbox()
	s.subscribe(t, nobody, `subscription { count(target: 3) }`, "", b)
	b.awaitEnd(t, "")
	if got := fmt.Sprintf("%s", b.payloads); got != `[{"data":{"count":1}} {"data":{"count":2}} {"data":{"count":3}}]` {
		t.Errorf("got %s", got)
	}
	panics, fails, blocks := newInbox(), newInbox(), newInbox()
	s.subscribe(t, nobody, `subscription { count(target: -1) }`, "", panics)
	panics.awaitEnd(t, fault.Internal)
	s.subscribe(t, nobody, `subscription { count(target: -2) }`, "", fails)
	fails.awaitEnd(t, "")
	if got := string(fails.payloads[0]); !strings.Contains(got, "UNAVAILABLE") {
		t.Errorf("got %s", got)
	}
	stop := s.subscribe(t, nobody, `subscription { count(target: -3) }`, "", blocks)
	blocks.awaitCount(t, 1)
	stop()
	<-stopped
}

func TestFunctionIsForThoseWhomItsRuleAllows(t *testing.T) {
	t.Parallel()
	dir := socialDir(t)
	dir["secret.graphql"] = &fstest.MapFile{Data: []byte(`extend type Subscription { secret: Int @auth(requires: [ADMIN]) }`)}
	list := allFunctions()
	list["Subscription.secret"] = list["Subscription.count"]
	s := &service{Service: resourcetest.New(t, dir)}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: list}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	r := graphql.Request{Query: `subscription { secret }`}
	for _, who := range []auth.Principal{nobody, ada} {
		if _, failed := s.engine.Subscribe(t.Context(), who, r, "", newInbox()); failed == nil || failed.Code != fault.Forbidden {
			t.Errorf("%+v: got %+v", who, failed)
		}
	}
	b := newInbox()
	s.subscribe(t, admin, r.Query, "", b)
	b.awaitEnd(t, "")
}

func TestCloseEndsSubscriptions(t *testing.T) {
	t.Parallel()
	s := newLive(t, resource.FeedOptions{}, nil)
	start := s.Feed.Now().String()
	s.post(t, "1")
	live, stuck, function := newInbox(), newInbox(), newInbox()
	stuck.gate, function.gate = make(chan struct{}), make(chan struct{})
	s.subscribe(t, nobody, postChanged, "", live)
	s.subscribe(t, nobody, postChanged, start, stuck)
	s.subscribe(t, nobody, `subscription { count }`, "", function)
	s.engine.Close()
	for _, b := range []*inbox{live, stuck, function} {
		b.awaitEnd(t, fault.Unavailable)
	}
	if _, failed := s.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: postChanged}, "", newInbox()); failed == nil || failed.Code != fault.Unavailable {
		t.Errorf("got %+v", failed)
	}
	s.post(t, "2") // the feed goes on
}

// The promise of the product: whoever comes back with a cursor gets what it
// has missed, once and in order, whatever happens meanwhile. Writers never
// pause; readers join from the start, leave and resume all the time; the ring
// is small, so that they resume from the log, from the ring and live.
func TestNothingIsLostOrDoubledUnderAFlood(t *testing.T) {
	t.Parallel()
	const writers, each, readers = 8, 60, 16
	s := newLive(t, resource.FeedOptions{Ring: 32}, nil)
	const all = writers * (each + each/10)
	start, end := s.Feed.Now().String(), s.Feed.Now().Seq+all
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Post", Verb: resource.Create, Who: admin,
					Input: fmt.Appendf(nil, `{"authorId":"w%d","title":"%d"}`, w, i)})
				if err != nil {
					t.Error(err)
					return
				}
				if i%10 == 0 { // some records change again
					id, _ := object(t, r.Raw)["id"].(string)
					if _, err := s.Client.Submit(t.Context(), resource.Command{Type: "Post", Verb: resource.Delete, Who: admin, Input: fmt.Appendf(nil, `{"id":%q}`, id)}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	got := make([][]uint64, readers)
	for n := range readers {
		wg.Go(func() { got[n] = s.roam(t, start, all, uint64(n), end) })
	}
	wg.Wait()
	for n, seqs := range got {
		if len(seqs) != all || !slices.Equal(seqs, got[0]) || !ascending(seqs) {
			t.Errorf("reader %d got %d events, want %d, in order and once each", n, len(seqs), all)
		}
	}
	stats := s.engine.Stats()
	t.Logf("%+v", stats)
	if stats.Sinks != 0 || stats.Groups != 0 {
		t.Errorf("left over: %+v", stats)
	}
}

// ascending: in order, and none twice.
func ascending(seqs []uint64) bool {
	for i := 1; i < len(seqs); i++ {
		if seqs[i] <= seqs[i-1] {
			return false
		}
	}
	return true
}

// roam reads all events after a cursor, a random number of them at a time.
func (s *service) roam(t *testing.T, cursor string, all int, seed, end uint64) (seqs []uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for len(seqs) < all {
		b := newInbox()
		b.most = min(1+random.IntN(100), all-len(seqs))
		stop, failed := s.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: postChanged}, cursor, b)
		if failed != nil {
			t.Errorf("refused: %s", failed.Body)
			return nil
		}
		leave := b.most
		if random.IntN(2) == 0 {
			leave = 1 + random.IntN(b.most) // by stop rather than by a false Next
		}
		deadline := time.After(30 * time.Second)
		for b.count() < leave {
			select {
			case <-b.moved:
			case <-deadline:
				errors, ended := b.over()
				t.Errorf("reader %d stands still at %d of %d; ended %v %s", seed, len(seqs)+b.count(), all, ended, errors)
				stop()
				return nil
			}
		}
		stop()
		part := b.seqs(t)
		seqs = append(seqs, part...)
		cursor = b.cursor(len(part) - 1)
		if away := random.IntN(100); away > 30 { // else it comes back at once
			s.awaitSeq(t, min(part[len(part)-1]+uint64(away), end))
		}
	}
	return seqs
}

// awaitSeq waits until the log is known up to there.
func (s *service) awaitSeq(t testing.TB, seq uint64) {
	t.Helper()
	if err := s.Client.WaitFor(t.Context(), seq); err != nil {
		t.Error(err)
	}
}

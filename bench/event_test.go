package bench_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"tidings/bench/gqlgen"
	"tidings/bus"
	"tidings/graphql"
)

const eventFields = `{kind id at cursor user{id name avatar createdAt}}`

// counter is a sink that counts what it is given.
type counter struct {
	left  atomic.Int64 // until done is told
	done  chan struct{}
	first atomic.Pointer[[]byte]
	ended atomic.Pointer[[]byte]
}

func newCounter() *counter { return &counter{done: make(chan struct{}, 1)} }

func (c *counter) Next(payload []byte, _ string) bool {
	if c.first.Load() == nil {
		c.first.Store(&payload)
	}
	if c.left.Add(-1) == 0 {
		c.done <- struct{}{}
	}
	return true
}

func (c *counter) End(errors []byte) {
	c.ended.Store(&errors)
	select {
	case c.done <- struct{}{}:
	default:
	}
}

// await waits until as many events as were expected have come.
func (c *counter) await(t testing.TB) {
	<-c.done
	if errors := c.ended.Load(); errors != nil {
		t.Fatalf("the subscription ended: %s", *errors)
	}
}

// subscribe subscribes the sink to a query as often as asked for. Equal
// subscriptions share their execution; the others have a name of their own.
func (s *service) subscribe(t testing.TB, sink graphql.Sink, field string, equal, other int) {
	t.Helper()
	for group := range other {
		r := graphql.Request{Query: fmt.Sprintf(`subscription S%04d{userChanged: %s%s}`, group, field, eventFields)}
		for range equal {
			stop, failed := s.engine.Subscribe(t.Context(), who, r, "", sink)
			if failed != nil {
				t.Fatalf("%s", failed.Body)
			}
			t.Cleanup(stop)
		}
	}
}

// writer puts a record into the log again and again, as a worker does.
type writer struct {
	bus   *bus.Bus
	entry bus.Entry
}

func (s *service) writer(t testing.TB, typ, id string) *writer {
	t.Helper()
	subject := s.Bus.Subjects().Record(typ, id)
	last, err := s.Bus.Last(t.Context(), subject)
	if err != nil || last == nil {
		t.Fatal("no record to write again: ", err)
	}
	return &writer{bus: s.Bus, entry: bus.Entry{Subject: subject, Header: last.Header, Data: last.Data, After: last.Seq}}
}

func (w *writer) write(t testing.TB) {
	seq, err := w.bus.Append(t.Context(), w.entry)
	if err != nil {
		t.Fatal(err)
	}
	w.entry.After = seq
}

// decode is what a gqlgen server does with a record that comes from the bus.
// The moment and the cursor are given: they cost nothing.
func decode(raw []byte) (*gqlgen.UserChange, error) {
	user, err := decoded[gqlgen.User](raw)
	if err != nil {
		return nil, err
	}
	return &gqlgen.UserChange{
		Kind: gqlgen.ChangeKindUpdated, ID: user.ID, User: user,
		At: "2026-11-20T07:25:22.5Z", Cursor: "AbCdEfGh.123456",
	}, nil
}

func TestBothSidesTellAlike(t *testing.T) {
	s := newService(t)
	base := inMemory(t, s)
	next := base.subscribe(t)
	want := string(next(t, s.held.user))

	held := newCounter()
	s.subscribe(t, held, "heldChanged", 1, 1)
	held.left.Store(1)
	s.held.changes <- 1
	held.await(t)
	if got := string(*held.first.Load()); got != want {
		t.Errorf("a held event is %s, gqlgen's %s", got, want)
	}

	live := newCounter()
	s.subscribe(t, live, "userChanged", 1, 1)
	live.left.Store(1)
	s.writer(t, "User", "user-0007").write(t)
	live.await(t)
	if got := user(t, *live.first.Load()); got != user(t, []byte(want)) {
		t.Errorf("a live event has %s, gqlgen's has %s", got, want)
	}
}

// user returns the user in an event: its moment and cursor are of each side.
func user(t testing.TB, payload []byte) string {
	t.Helper()
	var result struct {
		Data struct {
			UserChanged struct{ User json.RawMessage }
		}
	}
	if err := json.Unmarshal(payload, &result); err != nil {
		t.Fatal(err)
	}
	return string(result.Data.UserChanged.User)
}

func BenchmarkEvent(b *testing.B) {
	s := newService(b)
	base := inMemory(b, s)
	b.Run("tidings", func(b *testing.B) { s.benchmarkGroups(b, 1, 1000) })
	b.Run("tidings,equal", func(b *testing.B) { s.benchmarkGroups(b, 1000, 1) })
	b.Run("tidings,held", s.benchmarkHeld)
	b.Run("gqlgen", func(b *testing.B) { base.benchmarkEvent(b, s.held.user) })
}

// benchmarkGroups writes one event for so many subscriptions. An operation is
// one event for one subscription.
func (s *service) benchmarkGroups(b *testing.B, equal, other int) {
	sink := newCounter()
	s.subscribe(b, sink, "userChanged", equal, other)
	w := s.writer(b, "User", "user-0007")
	b.ReportAllocs()
	b.ResetTimer()
	defer cpu(b)()
	for n := 0; n < b.N; n += equal * other {
		sink.left.Store(int64(equal * other))
		w.write(b)
		sink.await(b)
	}
}

// benchmarkHeld lets a function yield the event: no log, no view, no sharing.
func (s *service) benchmarkHeld(b *testing.B) {
	sink := newCounter()
	s.subscribe(b, sink, "heldChanged", 1, 1)
	b.ReportAllocs()
	b.ResetTimer()
	defer cpu(b)()
	sink.left.Store(int64(b.N))
	s.held.changes <- b.N
	sink.await(b)
}

// subscribe returns what decodes a record, executes the subscription on it and
// encodes the result, as gqlgen does for each subscriber.
func (base *baseline) subscribe(t testing.TB) (next func(t testing.TB, raw []byte) []byte) {
	t.Helper()
	responses, ctx, err := base.dispatch(t.Context(), `subscription{userChanged`+eventFields+`}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, raw []byte) []byte {
		change, err := decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		base.records.Changes <- change
		payload, err := json.Marshal(responses(ctx))
		if err != nil {
			t.Fatal(err)
		}
		return payload
	}
}

func (base *baseline) benchmarkEvent(b *testing.B, raw []byte) {
	next := base.subscribe(b)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		next(b, raw)
	}
}

// BenchmarkDelivery goes from the writing of a record to the sink of its one
// subscriber: the log, the feed, the view's transaction, the execution.
func BenchmarkDelivery(b *testing.B) {
	s, sink := newService(b), newCounter()
	s.subscribe(b, sink, "userChanged", 1, 1)
	w := s.writer(b, "User", "user-0007")
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		sink.left.Store(1)
		w.write(b)
		sink.await(b)
	}
}

package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
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

const snapshotQuery = `subscription { taskChanged(snapshot: true, filter: %s) ` + taskSelection + ` }`

// mirror is a client that keeps the records which it is told of. It is a sink,
// and strict: what does not fit what it has is an error.
type mirror struct {
	t     testing.TB
	ready func(n int) // called before each result; nil: nothing

	mu       sync.Mutex
	state    map[string]string
	asked    int
	kinds    []resource.Kind
	cursors  []string
	begun    int
	complete bool
	skipped  int
	ended    string
	moved    chan struct{}
}

func newMirror(t testing.TB) *mirror {
	return &mirror{t: t, state: map[string]string{}, moved: make(chan struct{}, 1)}
}

func (m *mirror) Ready(ctx context.Context) error {
	m.mu.Lock()
	n := m.asked
	m.asked++
	m.mu.Unlock()
	if m.ready != nil {
		m.ready(n)
	}
	return ctx.Err()
}

func (m *mirror) Next(payload []byte, cursor string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var r struct {
		Data       struct{ TaskChanged *taskChange }
		Extensions struct {
			Cursor   string
			Snapshot struct{ Begin, Complete bool }
			Skipped  int
		}
	}
	if err := json.Unmarshal(payload, &r); err != nil {
		m.t.Error(err)
		return false
	}
	c := r.Data.TaskChanged
	if r.Extensions.Cursor != cursor || c != nil && c.Cursor != cursor {
		m.t.Errorf("three cursors: %s, %s", cursor, payload)
	}
	if r.Extensions.Snapshot.Begin {
		m.begun++
		m.complete = false
		clear(m.state)
	}
	if m.begun > 0 && !m.complete != strings.HasSuffix(cursor, "-~") && !r.Extensions.Snapshot.Complete {
		m.t.Errorf("complete %t: %s", m.complete, payload)
	}
	if r.Extensions.Snapshot.Complete {
		m.complete = true
		if _, err := resource.ParsePosition(cursor); err != nil {
			m.t.Error(err)
		}
	}
	m.skipped += r.Extensions.Skipped
	m.cursors = append(m.cursors, cursor)
	if c != nil {
		m.kinds = append(m.kinds, c.Kind)
		m.change(c)
	}
	select {
	case m.moved <- struct{}{}:
	default:
	}
	return true
}

func (m *mirror) change(c *taskChange) {
	_, has := m.state[c.ID]
	out := c.Kind == resource.Deleted || c.Kind == resource.Left
	fresh := c.Kind == resource.Created || c.Kind == resource.Entered || c.Kind == resource.Snapshot
	if has == fresh {
		m.t.Errorf("%s of %s, which is there: %t", c.Kind, c.ID, has)
	}
	if out {
		delete(m.state, c.ID)
	} else {
		m.state[c.ID] = string(c.Task)
	}
}

func (m *mirror) End(errors []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = string(errors)
	select {
	case m.moved <- struct{}{}:
	default:
	}
}

// await waits until the condition holds; it is asked under the lock.
func (m *mirror) await(what string, condition func() bool) {
	m.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		m.mu.Lock()
		holds := condition()
		m.mu.Unlock()
		if holds {
			return
		}
		select {
		case <-m.moved:
		case <-deadline:
			m.mu.Lock()
			defer m.mu.Unlock()
			m.t.Fatalf("%s: it never happened; kinds %v, complete %t, ended %s", what, m.kinds, m.complete, m.ended)
		}
	}
}

func (m *mirror) awaitComplete() {
	m.t.Helper()
	m.await("the snapshot's end", func() bool { return m.complete })
}

// settles waits until the mirror shows what a list says.
func (m *mirror) settles(what string, want map[string]string) {
	m.t.Helper()
	m.await(what, func() bool { return maps.Equal(m.state, want) })
}

func (s *service) watch(t testing.TB, who auth.Principal, query, after string, m *mirror) (stop func()) {
	t.Helper()
	stop, failed := s.engine.Subscribe(t.Context(), who, graphql.Request{Query: query}, after, m)
	if failed != nil {
		t.Fatalf("refused: %s", failed.Body)
	}
	return stop
}

// manyTasks creates n tasks of two owners in three states.
func (s *service) manyTasks(t testing.TB, n int) {
	t.Helper()
	var last uint64
	for i := range n {
		last = s.task(t, resource.Create, `{"ownerId":%q,"state":%q,"rank":%d}`, []string{"ada", "ben"}[i%2], []string{"a", "b", "c"}[i%3], i%5).Seq
	}
	s.awaitSeq(t, last)
}

func TestASubscriptionBeginsWithTheRecordsAsTheyAre(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	s.manyTasks(t, 130)
	for _, c := range []struct {
		who    auth.Principal
		filter string
	}{{ada, `{}`}, {admin, `{}`}, {admin, `{state: {eq: "a"}}`}, {ada, `{rank: {ge: 3}}`}, {ben, `{state: {eq: "none"}}`}} {
		m := newMirror(t)
		s.watch(t, c.who, fmt.Sprintf(snapshotQuery, c.filter), "", m)
		m.awaitComplete()
		want := s.listed(t, c.who, c.filter)
		m.mu.Lock()
		if !maps.Equal(m.state, want) || m.begun != 1 || len(m.kinds) != len(want) || m.cursors[len(m.cursors)-1] != s.Feed.Now().String() {
			t.Errorf("%s %s: %d records, want %d; begun %d, %v", c.who.Subject, c.filter, len(m.state), len(want), m.begun, m.kinds)
		}
		m.mu.Unlock()
		r := s.task(t, resource.Create, `{"ownerId":%q,"state":"a","rank":3}`, c.who.Subject)
		s.awaitSeq(t, r.Seq)
		m.settles("the change after it", s.listed(t, c.who, c.filter))
	}
	one := newMirror(t)
	id := idOf(t, s.task(t, resource.Create, `{"ownerId":"ada","state":"a"}`).Raw)
	s.watch(t, ada, fmt.Sprintf(`subscription { taskChanged(snapshot: true, id: %q) `+taskSelection+` }`, id), "", one)
	one.awaitComplete()
	if len(one.kinds) != 1 {
		t.Errorf("of one record: %v", one.kinds)
	}
}

// Between any two results of a snapshot something changes: what was read
// already, what is to be read, what comes and what goes. Whatever the client
// does with it, it never gets an old state after a new one, and misses none.
func TestASnapshotAndItsChangesHaveNoGapAndNoOverlap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := tasked(t, bustest.Open(t, bus.Options{History: 10_000}), []int{8, 4096}[seed%2])
			s.manyTasks(t, 110)
			rng := rand.New(rand.NewPCG(seed, 5))
			var ids []string
			for id := range s.listed(t, admin, `{}`) {
				ids = append(ids, id)
			}
			filter := taskFilters[seed%uint64(len(taskFilters))]
			m := newMirror(t)
			var writing sync.Mutex
			quiet := false
			m.ready = func(int) {
				writing.Lock()
				defer writing.Unlock()
				if quiet {
					return
				}
				id := ids[rng.IntN(len(ids))]
				var err error
				var r resource.Record
				switch rng.IntN(6) {
				case 0:
					r = s.task(t, resource.Create, `{"ownerId":"ada","state":"a","rank":1}`)
					ids = append(ids, idOf(t, r.Raw))
				case 1:
					r, err = s.Client.Submit(t.Context(), resource.Command{Type: "Task", Verb: resource.Delete, Who: admin, Input: fmt.Appendf(nil, `{"id":%q}`, id)})
				default:
					r, err = s.Client.Submit(t.Context(), resource.Command{Type: "Task", Verb: resource.Update, Who: admin,
						Input: fmt.Appendf(nil, `{"id":%q,"state":%q,"rank":%d,"ownerId":%q}`, id, []string{"a", "b", "c"}[rng.IntN(3)], rng.IntN(5), []string{"ada", "ben"}[rng.IntN(2)])})
				}
				if err != nil && !fault.Is(err, fault.NotFound) {
					t.Error(err)
				}
				s.awaitSeq(t, r.Seq)
			}
			who := []auth.Principal{ada, admin}[rng.IntN(2)]
			s.watch(t, who, fmt.Sprintf(snapshotQuery, filter), "", m)
			m.awaitComplete()
			writing.Lock()
			quiet = true
			writing.Unlock()
			last := s.task(t, resource.Create, `{"ownerId":"ada","state":"a","rank":1}`)
			s.awaitSeq(t, last.Seq)
			m.settles("all that is there", s.listed(t, who, filter))
		})
	}
}

// The promise, under load: writers never pause, clients come with a snapshot,
// are cut off anywhere, come back with the cursor that they have, and in the
// end have what a query says.
func TestSnapshotsUnderAFloodFoldToTheList(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.Open(t, bus.Options{History: 10_000}), 64)
	s.manyTasks(t, 120)
	var writers, readers sync.WaitGroup
	for i := range 3 {
		writers.Go(func() { s.churn(t, uint64(i), 120) })
	}
	written := make(chan struct{})
	for n := range 12 {
		readers.Go(func() { s.mirrorThrough(t, n, written) })
	}
	writers.Wait()
	s.awaitSeq(t, s.task(t, resource.Create, `{"ownerId":"ada","state":"a","rank":3}`).Seq)
	close(written)
	readers.Wait()
}

// mirrorThrough mirrors while others write, with many cuts, and compares.
func (s *service) mirrorThrough(t testing.TB, n int, written <-chan struct{}) {
	rng := rand.New(rand.NewPCG(uint64(n), 9))
	who, filter := []auth.Principal{ada, admin}[n%2], taskFilters[n%len(taskFilters)]
	m, cursor := newMirror(t), ""
	for over := false; !over; {
		select {
		case <-written:
			over = true
		default:
		}
		stop := s.watch(t, who, fmt.Sprintf(snapshotQuery, filter), cursor, m)
		if over {
			m.settles("all that is there", s.listed(t, who, filter))
			stop()
			return
		}
		upto := 1 + rng.IntN(150)
		m.mu.Lock()
		had := len(m.cursors)
		m.mu.Unlock()
		deadline := time.After(time.Second)
		for waiting := true; waiting; {
			m.mu.Lock()
			waiting = len(m.cursors)-had < upto
			m.mu.Unlock()
			select {
			case <-m.moved:
			case <-written:
				waiting = false
			case <-deadline:
				waiting = false
			}
		}
		stop()
		// What was under way when it stopped is not seen any more: a new client
		// with the state and the cursor of one moment.
		m.mu.Lock()
		next := newMirror(t)
		maps.Copy(next.state, m.state)
		next.begun, next.complete = m.begun, m.complete
		if len(m.cursors) > 0 {
			cursor = m.cursors[len(m.cursors)-1]
		}
		m.t = discard{t}
		m.mu.Unlock()
		m = next
	}
}

// discard is for what comes after a client has gone.
type discard struct{ testing.TB }

func (discard) Errorf(string, ...any) {}

func TestAnUnfinishedSnapshotBeginsAnew(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	s.manyTasks(t, 70)
	query := fmt.Sprintf(snapshotQuery, `{}`)
	b := newInbox()
	b.most = 60
	s.subscribe(t, admin, query, "", b)
	b.awaitCount(t, 60)
	b.await(t, "it is gone", func() bool { return s.engine.Stats().Sinks == 0 })
	m := newMirror(t)
	s.watch(t, admin, query, b.cursor(59), m)
	m.awaitComplete()
	if m.begun != 1 || len(m.state) != 70 {
		t.Errorf("begun %d, %d records", m.begun, len(m.state))
	}
	plain := fmt.Sprintf(strings.Replace(snapshotQuery, "snapshot: true, ", "", 1), `{}`)
	if _, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: plain}, b.cursor(59), newInbox()); failed == nil || failed.Code != fault.BadUserInput {
		t.Errorf("without a snapshot: %+v", failed)
	}
	r := decode(t, s.run(t, admin, fmt.Sprintf(`{ taskChanges(after: %q) { endCursor } }`, b.cursor(59)), ""))
	if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != fault.BadUserInput {
		t.Errorf("by polling: %+v", r)
	}
	whole := m.cursors[69]
	s.awaitSeq(t, s.task(t, resource.Create, `{"state":"new"}`).Seq)
	after := newMirror(t)
	s.watch(t, admin, query, whole, after)
	after.await("the one change", func() bool { return len(after.kinds) == 1 })
	if after.kinds[0] != resource.Created || after.begun != 0 {
		t.Errorf("after a whole snapshot: %v", after.kinds)
	}
}

// Whoever asks for snapshots is not told that events are gone, but how it is.
func TestAnExpiredCursorBeginsASnapshot(t *testing.T) {
	t.Parallel()
	const history = 4
	s := tasked(t, bustest.Open(t, bus.Options{History: history}), 4)
	id := idOf(t, s.task(t, resource.Create, `{"state":"0"}`).Raw)
	start := s.Feed.Now()
	var last resource.Record
	for i := range 3 * history {
		last = s.task(t, resource.Update, `{"id":%q,"state":"%d"}`, id, i)
	}
	s.awaitSeq(t, last.Seq)
	for _, cursor := range []string{start.String(), resource.Position{Log: "other", Seq: start.Seq}.String(), resource.Position{Log: start.Log, Seq: last.Seq + 1000}.String()} {
		m := newMirror(t)
		s.watch(t, admin, fmt.Sprintf(snapshotQuery, `{}`), cursor, m)
		m.awaitComplete()
		if len(m.state) != 1 || m.begun != 1 {
			t.Errorf("%s: %v", cursor, m.state)
		}
	}
	if _, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: fmt.Sprintf(snapshotQuery, `{}`)}, "yesterday", newInbox()); failed == nil || failed.Code != fault.BadUserInput {
		t.Errorf("a cursor that is none: %+v", failed)
	}
}

func TestASnapshotIsPricedAndBounded(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	s.manyTasks(t, 40)
	limited := func(l graphql.Limits) *graphql.Engine {
		e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Limits: l})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		return e
	}
	for name, c := range map[string]struct {
		limits graphql.Limits
		filter string
		says   string
	}{
		"as many as there may be": {graphql.Limits{Snapshot: 40}, `{}`, ""},
		"too many":                {graphql.Limits{Snapshot: 39}, `{}`, "at most 39 records"},
		"fewer by a filter":       {graphql.Limits{Snapshot: 20}, `{state: {eq: "a"}}`, ""},
		"as dear as it may be":    {graphql.Limits{Cost: graphql.Budgets{User: 81}}, `{}`, ""},
		"too dear":                {graphql.Limits{Cost: graphql.Budgets{User: 80}}, `{}`, "estimated to cost 81"},
		"measured":                {graphql.Limits{Cost: graphql.Budgets{User: 80}, Measure: true}, `{}`, ""},
	} {
		m := newMirror(t)
		query := `subscription { taskChanged(snapshot: true, filter: ` + c.filter + `) { kind id cursor task { id } } }`
		if _, failed := limited(c.limits).Subscribe(t.Context(), admin, graphql.Request{Query: query}, "", m); failed != nil {
			t.Fatalf("%s: %s", name, failed.Body)
		}
		m.await(name, func() bool { return m.complete || m.ended != "" })
		if c.says == "" != m.complete || !strings.Contains(m.ended, c.says) || c.says != "" && !strings.Contains(m.ended, string(fault.CostLimitExceeded)) {
			t.Errorf("%s: complete %t, ended %s", name, m.complete, m.ended)
		}
	}
}

// A page of a snapshot reads relations once, not once a record.
func TestASnapshotReadsRelationsPageByPage(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	parent := idOf(t, s.task(t, resource.Create, `{"state":"p"}`).Raw)
	for range 60 {
		s.task(t, resource.Create, `{"state":"c","parentId":%q}`, parent)
	}
	s.awaitSeq(t, s.task(t, resource.Create, `{"state":"p"}`).Seq)
	reads := graphql.CountReads(s.engine)
	m := newMirror(t)
	s.watch(t, admin, `subscription { taskChanged(snapshot: true, filter: {state: {eq: "c"}}) { kind id cursor task { id parent { id } } } }`, "", m)
	m.awaitComplete()
	if n := reads.Get.Load(); len(m.state) != 60 || n > 4 {
		t.Errorf("%d records, %d reads", len(m.state), n)
	}
	for id, task := range m.state {
		if task != fmt.Sprintf(`{"id":%q,"parent":{"id":%q}}`, id, parent) {
			t.Fatal(task)
		}
	}
}

func TestOneWhoMayReadNoneGetsNoSnapshot(t *testing.T) {
	t.Parallel()
	s := &service{Service: resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(noteSchema)}})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	if _, failed := s.engine.Subscribe(t.Context(), ada, graphql.Request{Query: `subscription { secretChanged(snapshot: true) { id } }`}, "", newInbox()); failed == nil || failed.Code != fault.Forbidden {
		t.Errorf("%+v", failed)
	}
}

package graphql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// latest is a service for tasks of which a slow subscriber is told the newest
// state.
func latest(t testing.TB, b *bus.Bus, ring int) *service {
	t.Helper()
	return slowTasks(t, b, ring, strings.Replace(taskSchema, "@resource", "@resource(onSlow: LATEST)", 1))
}

func slowTasks(t testing.TB, b *bus.Bus, ring int, sdl string) *service {
	t.Helper()
	s := &service{Service: resourcetest.On(t, b, fstest.MapFS{"s.graphql": {Data: []byte(sdl)}}, resource.FeedOptions{Ring: ring})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	return s
}

// places is the room of a sink, which its client makes.
type places struct {
	mu    sync.Mutex
	room  int
	holds int
	freed chan struct{}
}

func newPlaces(room int) *places { return &places{room: room, freed: make(chan struct{})} }

func (p *places) take() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds++
}

// full reports whether there is no room now, and what is closed when there is some.
func (p *places) full() (full bool, freed chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds >= p.room, p.freed
}

func (p *places) await(ctx context.Context) error {
	for {
		full, freed := p.full()
		if !full {
			return ctx.Err()
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read makes the client take out what waits, and gives it another room.
func (p *places) read(room int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds, p.room = 0, room
	close(p.freed)
	p.freed = make(chan struct{})
}

// narrow is a mirror with room for so many results.
type narrow struct {
	*mirror
	places *places
}

func newNarrow(t testing.TB, room int) *narrow { return &narrow{newMirror(t), newPlaces(room)} }

func (n *narrow) Next(payload []byte, cursor string) bool {
	n.places.take()
	return n.mirror.Next(payload, cursor)
}

func (n *narrow) Try(payload []byte, cursor string) (taken, full bool) {
	full, _ = n.places.full()
	return !full && n.Next(payload, cursor), full
}

func (n *narrow) Ready(ctx context.Context) error { return n.places.await(ctx) }

func (n *narrow) read(room int) { n.places.read(room) }

// Whoever stops reading and reads on has the newest state of each record, knows
// how many changes were left out, and has delayed nobody.
func TestASlowSubscriberGetsTheNewestStates(t *testing.T) {
	t.Parallel()
	for _, ring := range []int{8, 4096} {
		for _, c := range []struct {
			who    auth.Principal
			filter string
		}{{admin, `{}`}, {ada, `{}`}, {admin, `{state: {eq: "a"}}`}, {ada, `{rank: {ge: 2}}`}} {
			t.Run(fmt.Sprint(ring, c.who.Subject, c.filter), func(t *testing.T) {
				t.Parallel()
				s := latest(t, bustest.Open(t, bus.Options{History: 10_000}), ring)
				query := `subscription { taskChanged(filter: ` + c.filter + `) ` + taskSelection + ` }`
				fast, slow := newMirror(t), newNarrow(t, 3)
				s.watch(t, c.who, query, "", fast)
				if _, failed := s.engine.Subscribe(t.Context(), c.who, graphql.Request{Query: query}, "", slow); failed != nil {
					t.Fatalf("%s", failed.Body)
				}
				written := make(chan struct{})
				var wg sync.WaitGroup
				for i := range 2 {
					wg.Go(func() { s.churn(t, uint64(i), 80) })
				}
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(9, 9))
					for {
						select {
						case <-written:
							return
						case <-slow.moved:
							if rng.IntN(6) == 0 {
								slow.read(1 + rng.IntN(5))
							}
						}
					}
				})
				last := uint64(0)
				func() {
					var writers sync.WaitGroup
					for i := range 2 {
						writers.Go(func() { s.churn(t, uint64(i+5), 60) })
					}
					writers.Wait()
					last = s.task(t, resource.Create, `{"ownerId":"ada","state":"a","rank":3}`).Seq
				}()
				close(written)
				wg.Wait()
				last = max(last, s.task(t, resource.Create, `{"ownerId":"ada","state":"a","rank":3}`).Seq)
				s.awaitSeq(t, last)
				slow.read(1 << 30)
				want := s.listed(t, c.who, c.filter)
				fast.settles("the fast one has all", want)
				slow.settles("the slow one has the newest", want)
				fast.mu.Lock()
				slow.mu.Lock()
				defer fast.mu.Unlock()
				defer slow.mu.Unlock()
				if got := len(slow.kinds) + slow.skipped; got != len(fast.kinds) || slow.skipped == 0 {
					t.Errorf("%d results and %d left out, of %d", len(slow.kinds), slow.skipped, len(fast.kinds))
				}
				if stats := s.engine.Stats(); int(stats.Skipped) != slow.skipped || fast.skipped > 0 {
					t.Errorf("%+v; the slow one was told of %d left out, the fast one of %d", stats, slow.skipped, fast.skipped)
				}
				if !slices.IsSortedFunc(slow.cursors, func(a, b string) int {
					p, _ := resource.ParsePosition(a)
					q, _ := resource.ParsePosition(b)
					return int(int64(p.Seq) - int64(q.Seq))
				}) {
					t.Error("the cursors are not in order")
				}
			})
		}
	}
}

// One that is full when the service stops, or that leaves, is waited for.
func TestASlowSubscriberCanLeave(t *testing.T) {
	t.Parallel()
	s := latest(t, bustest.New(t), 0)
	query := `subscription { taskChanged ` + taskSelection + ` }`
	leaves, stays := newNarrow(t, 1), newNarrow(t, 1)
	stop, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: query}, "", leaves)
	if failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	if _, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: query}, "", stays); failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	s.manyTasks(t, 10)
	stays.await("one result", func() bool { return len(stays.kinds) == 1 })
	stop()
	s.engine.Close()
	if leaves.ended != "" || !strings.Contains(stays.ended, "UNAVAILABLE") {
		t.Errorf("ended %s, %s", leaves.ended, stays.ended)
	}
}

// Without LATEST a sink that can say that it is full is ended by itself, as ever.
func TestASlowSubscriberIsCutOffWhereEachChangeCounts(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	n := newNarrow(t, 1)
	if _, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: `subscription { taskChanged ` + taskSelection + ` }`}, "", n); failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	s.manyTasks(t, 5)
	n.await("each change", func() bool { return len(n.kinds) == 5 })
}

// A field that says what becomes of slow subscribers decides, in either way.
func TestAFieldDecidesWhatBecomesOfItsSlowSubscribers(t *testing.T) {
	t.Parallel()
	for field, resource := range map[string]string{"LATEST": "CLOSE", "CLOSE": "LATEST"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := slowTasks(t, bustest.New(t), 0, strings.Replace(taskSchema, "@resource", "@resource(onSlow: "+resource+")", 1)+
				`type Subscription { taskChanged(filter: TaskFilter): TaskChange! @onSlow(policy: `+field+`) }`)
			fast, slow := newMirror(t), newNarrow(t, 1)
			query := `subscription { taskChanged ` + taskSelection + ` }`
			s.watch(t, admin, query, "", fast)
			if _, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: query}, "", slow); failed != nil {
				t.Fatalf("%s", failed.Body)
			}
			s.manyTasks(t, 8)
			fast.await("each change", func() bool { return len(fast.kinds) == 8 })
			if field == "CLOSE" {
				slow.await("each change", func() bool { return len(slow.kinds) == 8 }) // the sink ends by itself
				return
			}
			slow.mirror.mu.Lock()
			defer slow.mirror.mu.Unlock()
			if len(slow.kinds) != 1 {
				t.Errorf("it was handed %d", len(slow.kinds))
			}
		})
	}
}

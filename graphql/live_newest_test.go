package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

const pricesSDL = `
type Query { one: Int @busRequest(subject: "one") }
type Price { symbol: String! n: Int! }
type Named { id: ID! n: Int! }
type Subscription {
  prices: Price @busSubscribe(subject: "prices.*", onSlow: LATEST, key: "symbol")
  named: Named @busSubscribe(subject: "prices.*", onSlow: LATEST)
  last: Price @busSubscribe(subject: "prices.*", onSlow: LATEST)
  each: Price @busSubscribe(subject: "prices.*")
  kept: Price @busSubscribe(subject: "kept.*", stream: "KEPT", onSlow: LATEST, key: "symbol")
  every: Price @busSubscribe(subject: "kept.*", stream: "KEPT")
}
`

func newPrices(t testing.TB) (*bound, nats.JetStreamContext) {
	t.Helper()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	dir := fstest.MapFS{"schema.graphql": {Data: []byte(pricesSDL)}}
	x := boundOn(t, resourcetest.On(t, b, dir, resource.FeedOptions{}), b.URL(), graphql.Options{})
	return x, x.stream(t)
}

// tight is an inbox with room for so many results.
type tight struct {
	*inbox
	places *places
}

func newTight(room int) *tight { return &tight{newInbox(), newPlaces(room)} }

func (s *tight) Next(payload []byte, cursor string) bool {
	s.places.take()
	return s.inbox.Next(payload, cursor)
}

func (s *tight) Try(payload []byte, cursor string) (taken, full bool) {
	full, _ = s.places.full()
	return !full && s.Next(payload, cursor), full
}

func (s *tight) Ready(ctx context.Context) error { return s.places.await(ctx) }

// quote is one result.
type quote struct {
	about   string
	n       int
	skipped int
	failed  bool
}

func (b *inbox) prices(t testing.TB) (list []quote) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, payload := range b.payloads {
		var r struct {
			Data map[string]*struct {
				Symbol, ID string
				N          int
			}
			Errors     []any
			Extensions struct {
				Skipped int
				Cursor  string
			}
		}
		if err := json.Unmarshal(payload, &r); err != nil || r.Extensions.Cursor != b.cursors[i] {
			t.Fatalf("%s with the cursor %s, %v", payload, b.cursors[i], err)
		}
		p := quote{skipped: r.Extensions.Skipped, failed: r.Errors != nil}
		for _, d := range r.Data {
			if d != nil {
				p.about, p.n = d.Symbol+d.ID, d.N
			}
		}
		list = append(list, p)
	}
	return list
}

// told sums up the results: how many, how many were left out, and the newest of
// each key, none of which may be older than what was told of it before.
func told(t testing.TB, list []quote) (sum int, newest map[string]int) {
	t.Helper()
	newest = map[string]int{}
	for _, p := range list {
		if sum += 1 + p.skipped; !p.failed && p.n <= newest[p.about] {
			t.Errorf("%d of %q after %d", p.n, p.about, newest[p.about])
		}
		if !p.failed {
			newest[p.about] = p.n
		}
	}
	return sum, newest
}

// Whoever stops reading and reads on has the newest message of each key, knows how
// many were left out, and has delayed nobody; without a stream and with one.
func TestASlowSubscriberGetsTheNewestMessages(t *testing.T) {
	t.Parallel()
	const total, symbols = 400, 7
	for field, want := range map[string]struct {
		selection string
		keys      int
	}{"prices": {"symbol n", symbols}, "named": {"id n", symbols}, "last": {"n", 1}, "kept": {"symbol n", symbols}} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			x, js := newPrices(t)
			query := `subscription { ` + field + ` { ` + want.selection + ` } }`
			fast, slow := newInbox(), newTight(2)
			x.subscribe(t, nobody, query, "", fast)
			if _, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: query}, "", slow); failed != nil {
				t.Fatalf("%s", failed.Body)
			}
			rng := rand.New(rand.NewPCG(4, uint64(len(field))))
			for n := 1; n <= total; n++ {
				text := fmt.Sprintf(`{"symbol":"s%d","id":"s%[1]d","n":%d}`, rng.IntN(symbols), n)
				if field == "kept" {
					store(t, js, "kept.a", "%s", text)
				} else {
					x.publish(t, "prices.a", "%s", text)
				}
				if n%50 == 0 {
					fast.awaitCount(t, n)
				}
				if rng.IntN(40) == 0 {
					slow.places.read(1 + rng.IntN(6))
				}
			}
			fast.awaitCount(t, total)
			all, newest := told(t, fast.prices(t))
			if all != total || len(newest) != want.keys || fast.count() != total {
				t.Fatalf("the fast one has %d in %d results, %d keys", all, fast.count(), len(newest))
			}
			slow.places.read(1 << 30)
			slow.await(t, "the slow one knows of all", func() bool {
				sum, _ := told(t, slow.prices(t))
				return sum >= total
			})
			list := slow.prices(t)
			sum, got := told(t, list)
			if sum != total || fmt.Sprint(got) != fmt.Sprint(newest) || len(list) == total {
				t.Errorf("%d in %d results: %v, want %v", sum, len(list), got, newest)
			}
			x.remembers(t, 0)
			if field == "kept" {
				x.resumable(t, slow.inbox, total)
			}
		})
	}
}

// remembers waits until something is remembered on so many subjects.
func (x *bound) remembers(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for graphql.Remembering(x.engine) != n {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("something is remembered on %d subjects, want %d", graphql.Remembering(x.engine), n)
		}
	}
}

// resumable checks that with each of the cursors everything after it comes, once.
func (x *bound) resumable(t *testing.T, b *inbox, total int) {
	t.Helper()
	for i, p := range b.prices(t) {
		again := newInbox()
		stop := x.subscribe(t, nobody, `subscription { kept { symbol n } }`, b.cursor(i), again)
		again.awaitCount(t, total-p.n)
		stop()
		for j, q := range again.prices(t) {
			if q.n != p.n+j+1 || q.skipped > 0 {
				t.Fatalf("after %d comes %+v", p.n+j, q)
			}
		}
	}
}

// More is remembered for nobody than for a process that is slow itself: what is
// gone is told of, or read from the stream.
func TestWhatIsRememberedForTheSlowIsBounded(t *testing.T) {
	t.Parallel()
	const total = 4200 // 4096 of them are remembered
	for _, field := range []string{"prices", "kept"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			x, js := newPrices(t)
			query := `subscription { ` + field + ` { symbol n } }`
			fast, slow := newInbox(), newTight(1)
			x.subscribe(t, nobody, query, "", fast)
			if _, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: query}, "", slow); failed != nil {
				t.Fatalf("%s", failed.Body)
			}
			for n := 1; n <= total; n++ {
				text := fmt.Appendf(nil, `{"symbol":"s%d","n":%[1]d}`, n)
				var err error
				if field == "kept" {
					_, err = js.PublishAsync("kept.a", text)
				} else {
					err = x.nc.Publish("prices.a", text)
				}
				if err != nil {
					t.Fatal(err)
				}
				if n%100 == 0 {
					fast.awaitCount(t, n)
				}
			}
			slow.places.read(1 << 30)
			slow.await(t, "the slow one knows of all", func() bool {
				sum, _ := told(t, slow.prices(t))
				return sum >= total
			})
			list := slow.prices(t)
			sum, newest := told(t, list)
			gaps := slices.DeleteFunc(list, func(p quote) bool { return !p.failed })
			switch {
			case sum != total:
				t.Errorf("%d in all", sum)
			case field == "kept" && (len(newest) != total || len(gaps) > 0):
				t.Errorf("%d of the stream, %d gaps", len(newest), len(gaps))
			case field == "prices" && (len(newest) != 4097 || len(gaps) != 1 || !strings.Contains(slow.payload(1), "may have been lost")):
				t.Errorf("%d are told, gaps %v, %s", len(newest), gaps, slow.payload(1))
			}
		})
	}
}

// What cannot be read stands for none that can, and the newest of it is told.
func TestASlowSubscriberLearnsOfMessagesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	x, _ := newPrices(t)
	fast, slow := newInbox(), newTight(1)
	query := `subscription { prices { symbol n } }`
	x.subscribe(t, nobody, query, "", fast)
	if _, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: query}, "", slow); failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	texts := []string{`{"symbol":"a","n":1}`, `{"symbol":"a","n":2}`, `nonsense`, `{"n":3}`, `{"n":4}`, `nonsense`, `{"symbol":"a","n":5}`}
	for _, text := range texts {
		x.publish(t, "prices.a", "%s", text)
	}
	fast.awaitCount(t, len(texts))
	slow.places.read(1 << 30)
	slow.await(t, "all are known", func() bool { sum, _ := told(t, slow.prices(t)); return sum >= len(texts) })
	for i, want := range []string{`"n":1`, `"path":["prices","symbol"]`, `a message cannot be read`, `"n":5`} {
		if slow.count() != 4 || !strings.Contains(slow.payload(i), want) {
			t.Errorf("%d of %d is %s, want %s", i, slow.count(), slow.payload(i), want)
		}
	}
}

// One that is full when the service stops, or that leaves, is waited for; and
// where each message counts a sink is not left behind.
func TestASlowSubscriberToTheBusCanLeave(t *testing.T) {
	t.Parallel()
	x, _ := newPrices(t)
	leaves, stays, each := newTight(1), newTight(1), newTight(1)
	stops := map[*tight]func(){}
	for sink, query := range map[*tight]string{leaves: `subscription { last { n } }`, stays: `subscription { last { n } }`, each: `subscription { each { n } }`} {
		stop, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: query}, "", sink)
		if failed != nil {
			t.Fatalf("%s", failed.Body)
		}
		stops[sink] = stop
	}
	for n := range 10 {
		x.publish(t, "prices.a", `{"symbol":"a","n":%d}`, n+1)
	}
	each.awaitCount(t, 10)
	x.remembers(t, 1) // for both
	stops[leaves]()
	x.remembers(t, 1)
	x.engine.Close()
	if _, ended := leaves.over(); ended || leaves.count() != 1 {
		t.Errorf("who left has %d results, ended %t", leaves.count(), ended)
	}
	if errs, ended := stays.over(); !ended || !strings.Contains(errs, "UNAVAILABLE") {
		t.Errorf("who stayed: %s, ended %t", errs, ended)
	}
}

package graphql_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource"
)

// crowd is many sinks that count together. A payload's address tells one
// encoding from another, and the map keeps it from being used again.
type crowd struct {
	t         *testing.T
	mu        sync.Mutex
	encodings map[*byte]int // deliveries of each
	got       int
	want      int
	all       chan struct{} // closed when as many have come as are wanted
}

func (c *crowd) Next(payload []byte, _ string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.encodings[&payload[0]]++
	if c.got++; c.got == c.want {
		close(c.all)
	}
	return true
}

func (c *crowd) End(errors []byte) {
	if c.t.Context().Err() == nil {
		c.t.Errorf("a subscription ended: %s", errors)
	}
}

func (c *crowd) Ready(context.Context) error { return nil }

// expect is called before the event that so many sinks are to be told of.
func (c *crowd) expect(deliveries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.encodings)
	c.got, c.want, c.all = 0, deliveries, make(chan struct{})
}

// Ten thousand subscribers: an event is executed and encoded once for each group
// that it concerns, and the others are not even looked at, since every group that
// the index finds counts as an execution. The sinks are in memory: as many
// sockets would take longer to open than all else here.
func TestTenThousandSubscribersCostOneExecutionForEachGroupConcerned(t *testing.T) {
	t.Parallel()
	const subscribers, events = 10_000, 20
	one := func(int) graphql.Request {
		return graphql.Request{Query: `subscription { userChanged { kind user { id name } } }`}
	}
	documents := func(i int) graphql.Request {
		return graphql.Request{Query: fmt.Sprintf(`subscription S%d { userChanged { kind user { id name } } }`, i%100)}
	}
	byID := func(groups int) func(i int) graphql.Request {
		return func(i int) graphql.Request {
			return graphql.Request{
				Query:     `subscription ($id: ID!) { userChanged(id: $id) { kind user { id name } } }`,
				Variables: fmt.Appendf(nil, `{"id":"u%d"}`, i%groups),
			}
		}
	}
	for name, c := range map[string]struct {
		request           func(i int) graphql.Request
		groups, concerned int
	}{
		"one group":                    {one, 1, 1},
		"100 groups, all concerned":    {documents, 100, 100},
		"100 groups, one concerned":    {byID(100), 100, 1},
		"10,000 groups, one concerned": {byID(subscribers), subscribers, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLive(t, resource.FeedOptions{}, nil)
			crowd := &crowd{t: t, encodings: map[*byte]int{}}
			for i := range subscribers {
				who := auth.Principal{Subject: fmt.Sprint("user", i), Roles: ada.Roles}
				if _, failed := s.engine.Subscribe(t.Context(), who, c.request(i), "", crowd); failed != nil {
					t.Fatalf("refused: %s", failed.Body)
				}
			}
			each := subscribers / c.groups
			for i := range events {
				crowd.expect(c.concerned * each)
				s.create(t, "User", fmt.Sprintf(`{"id":"u%d","name":"x","email":"u%d@example.org"}`, i, i))
				select {
				case <-crowd.all:
				case <-time.After(30 * time.Second):
					t.Fatalf("event %d has not come to all: %+v", i, s.engine.Stats())
				}
				crowd.mu.Lock()
				if len(crowd.encodings) != c.concerned {
					t.Errorf("%d encodings, want %d", len(crowd.encodings), c.concerned)
				}
				for _, n := range crowd.encodings {
					if n != each {
						t.Errorf("one encoding went to %d subscribers, want %d", n, each)
					}
				}
				crowd.mu.Unlock()
			}
			want := graphql.LiveStats{
				Groups: c.groups, Sinks: subscribers,
				Executions: uint64(events * c.concerned), Deliveries: uint64(events * c.concerned * each),
			}
			if got := s.engine.Stats(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// mixed is a load of everything that writes and listens, for one fault: writers
// who create, change and delete, some of them with keys; users who fight for an
// address; partners with batches; and subscribers to both types.
type mixed struct {
	*cluster
	name         string
	admin        string // token
	posts, users *ledger
	writers      *writers // all of them; progress counts the posts
	onPosts      *audience
	onUsers      *audience
	batches      batches
	registers    *registers
	began        time.Time
}

// before is what the subscribers of this load begin after.
func (m *mixed) before() string { return "before " + m.name }

// startMixed begins the load. Its records are named by the load's name, and are
// nobody else's.
func startMixed(t testing.TB, c *cluster, name string) *mixed {
	t.Helper()
	m := &mixed{cluster: c, name: name, admin: token(t, c.data, "root", "ADMIN"), posts: newLedger(), users: newLedger(), began: time.Now()}
	m.onPosts = gather(t, 12, anybody, c.apis, postChanges, func() { m.insist(t, m.admin, createPost, map[string]any{"title": m.before()}) })
	m.onUsers = gather(t, 4, anybody, c.apis, userChanges, func() { m.addUser(t, "before", m.before()) })
	var all []func(context.Context) error
	for i := range 4 {
		w := &deleter{writer: writer{name: fmt.Sprint(name, " w", i), token: token(t, c.data, fmt.Sprintf("%s-writer%d", name, i), "USER"), apis: c.apis, ledger: m.posts, turn: i}}
		all = append(all, every(60*time.Millisecond, w.write))
	}
	for i := range 3 {
		k := &keyed{writer: writer{name: fmt.Sprint(name, " k", i), token: token(t, c.data, fmt.Sprintf("%s-keyed%d", name, i), "USER"), apis: c.apis, ledger: m.posts, turn: i}}
		all = append(all, every(60*time.Millisecond, k.write))
	}
	for i := range 3 {
		h := &holder{apis: c.apis, id: fmt.Sprintf("%s-holder%d", name, i), ledger: m.users}
		h.token = token(t, c.data, h.id, "USER")
		m.users.attempt(h.id)
		m.addUser(t, fmt.Sprint("holder", i), h.id)
		all = append(all, every(60*time.Millisecond, h.step))
	}
	bearer := token(t, c.data, name+"-partner", "SERVICE,USER")
	for i := range 2 {
		all = append(all, m.partner(bearer, i))
	}
	m.registers = newRegisters(c.apis, m.admin, name, 2)
	for i := range 3 {
		all = append(all, m.registers.client(i))
	}
	m.writers = launch(t, m.posts, all...)
	m.writers.progress(t, 20)
	return m
}

// every calls write again and again, at a pace, until ctx ends.
func every(pace time.Duration, write func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			if err := write(ctx); err != nil {
				return err
			}
			pause(ctx, pace)
		}
		return nil
	}
}

// insist makes a post or a user that belongs to no writer.
func (m *mixed) insist(t testing.TB, token, mutation string, input map[string]any) {
	t.Helper()
	text, _ := input["title"].(string)
	if text == "" {
		text, _ = input["name"].(string)
	}
	turn := 0
	poll(t, patience, text+" is made", func() error {
		turn++
		c := call{Query: mutation, Variables: map[string]any{"input": input}, Extensions: map[string]any{"idempotencyKey": fmt.Sprint(m.name, text, input["id"])}}
		_, err := mutate(t.Context(), m.apis[turn%len(m.apis)], token, c, text)
		return err
	})
}

func (m *mixed) addUser(t testing.TB, id, name string) {
	t.Helper()
	id = m.name + "-" + id
	m.insist(t, m.admin, createUser("", "").Query, map[string]any{"id": id, "name": name, "email": id + "@example.org"})
}

// finish ends the load and returns what every subscriber must have been told.
func (m *mixed) finish(t testing.TB) {
	t.Helper()
	m.writers.end(t)
	m.insist(t, m.admin, createPost, map[string]any{"title": lastText})
	m.addUser(t, "last", lastText)
	m.onPosts.heard(t, time.Minute)
	m.onUsers.heard(t, time.Minute)
}

// heard waits until every subscriber has seen the last event.
func (a *audience) heard(t testing.TB, within time.Duration) {
	t.Helper()
	late := time.After(within)
	for range a.all {
		select {
		case err := <-a.errs:
			if err != nil {
				t.Error(err)
			}
		case <-late:
			for _, s := range a.all {
				t.Logf("%s has %d events", s.name, s.count())
			}
			t.Fatalf("not every subscriber has the last event after %s", within)
		}
	}
	a.wg.Wait()
}

// gap is the longest time from the acknowledgement of a write until a subscriber
// that was connected heard of it.
func (a *audience) gap(l *ledger) (longest time.Duration) {
	for _, s := range a.all {
		for i, e := range s.events {
			if at, ok := l.at[e.Text]; ok {
				since := at
				if s.came[i].opened.After(since) {
					since = s.came[i].opened
				}
				longest = max(longest, s.came[i].at.Sub(since))
			}
		}
	}
	return longest
}

// outage is the longest time in which nothing was acknowledged.
func (l *ledger) outage(from, to time.Time) (longest time.Duration) {
	times := slices.SortedFunc(maps.Values(l.at), time.Time.Compare)
	last := from
	for _, at := range append(times, to) {
		if at.After(last) && !at.After(to) {
			longest = max(longest, at.Sub(last))
			last = at
		}
	}
	return longest
}

// deleter is a writer that deletes each of its posts after some changes.
type deleter struct{ writer }

const (
	deletePost = `mutation ($input: DeletePostInput!) { done: deletePost(input: $input) { id } }`
	changes    = 4 // and then it is deleted
)

func (d *deleter) write(ctx context.Context) error {
	if d.updates < changes {
		return d.writer.write(ctx)
	}
	id, tries := d.post, 0
	d.ledger.attempt(deletion(id))
	err := d.insist(context.WithoutCancel(ctx), func() error { // what becomes of it must be known
		tries++
		d.turn++
		_, err := post(context.Background(), d.apis[d.turn%len(d.apis)].url, d.token, call{Query: deletePost, Variables: map[string]any{"input": map[string]any{"id": id}}})
		if refused, ok := errors.AsType[graphQLError](err); ok && refused.Extensions.Code == "NOT_FOUND" && tries > 1 {
			return nil // an attempt before, of which nothing was heard
		}
		return err
	})
	if err != nil {
		return err
	}
	d.ledger.ack(deletion(id), id)
	d.post, d.updates = "", 0
	return nil
}

// batches are what partners have sent.
type batches struct {
	mu    sync.Mutex
	whole []string // transactions that were sent once: there whole or not at all
}

const batchItems = 5

// partner sends batches: with a key, by item or all or none, until all is done;
// and transactions without one, once.
func (m *mixed) partner(bearer string, number int) func(context.Context) error {
	n := 0
	return every(150*time.Millisecond, func(ctx context.Context) error {
		n++
		name := fmt.Sprintf("%s b%d-%d", m.name, number, n)
		key, whole := fmt.Sprintf("%s-b%d-%d", m.name, number, n), n%3 != 0
		if n%3 == 2 {
			key = ""
			m.batches.mu.Lock()
			m.batches.whole = append(m.batches.whole, name)
			m.batches.mu.Unlock()
		}
		for i := range batchItems {
			m.posts.attempt(itemTitle(name, i))
		}
		for deadline, turn := time.Now().Add(2*patience), number; ; turn++ {
			err := createBatchBySOAP(context.Background(), m.apis[turn%len(m.apis)].url, bearer, name, key, batchItems, whole)
			if err == nil {
				for i := range batchItems {
					m.posts.ack(itemTitle(name, i), "")
				}
				return nil
			}
			m.posts.failed(err)
			_, network := errors.AsType[net.Error](err)
			switch {
			case !network && !passingSOAP.MatchString(err.Error()) && !comesBack(err):
				return fmt.Errorf("batch %s: %w", name, err)
			case key == "":
				return nil
			case time.Now().After(deadline):
				return fmt.Errorf("batch %s: not done for %s: %w", name, 2*patience, err)
			}
			pause(context.Background(), 100*time.Millisecond)
		}
	})
}

// passingSOAP finds the errors after which trying again is right.
var passingSOAP = regexp.MustCompile(`\b(UNAVAILABLE|TIMEOUT)\b|EOF|connection re`)

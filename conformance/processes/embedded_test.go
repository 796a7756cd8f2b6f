//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The whole service in one process, killed again and again while writers
// compete for unique values.
func TestNothingIsLostWhileTheSingleProcessIsKilled(t *testing.T) {
	data := t.TempDir()
	a := startAPI(t, "api", data, nil)
	apis := []*api{a}
	admin := token(t, data, "root", "ADMIN")
	say := func(id, name string) { // at once: when a process says that it is ready, it is
		t.Helper()
		if _, err := mutate(t.Context(), a, admin, claim(id, name, id+"@example.org"), name); err != nil {
			t.Fatalf("create %s: %v", id, err)
		}
	}

	subscribers := gather(t, 8, anybody, apis, userChanges, func() { say("first", textBefore) })
	begin := subscribers.all[0].after
	race := newRace(t, apis, admin, 5)
	for range 5 {
		race.progress(t, 40)
		a.kill(t)
		a.restart(t)
	}
	race.progress(t, 40)
	a.terminate(t) // and once in good order, with subscribers and writers at it
	if code := a.exit(t, 10*time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	a.restart(t)
	race.progress(t, 60)
	race.end(t)
	say("last", lastText)

	events := subscribers.wait(t, 30*time.Second)
	race.ledger.check(t, events)
	if n := subscribers.resumed(); n < len(subscribers.all) {
		t.Errorf("%d subscribers resumed %d times; the kills have missed them", len(subscribers.all), n)
	}
	race.check(t, a, admin)
	want := final(events)
	want["first"] = textBefore
	checkState(t, a, anybody, "users", "name", want)

	// The view that was on disk, and one that is made anew from the log.
	a.kill(t)
	a.restart(t)
	say("kept", "with the view that was kept")
	want["kept"] = "with the view that was kept"
	checkState(t, a, anybody, "users", "name", want)
	a.kill(t)
	if err := os.RemoveAll(filepath.Join(data, "view")); err != nil {
		t.Fatal(err)
	}
	a.restart(t)
	say("anew", "with the view made anew")
	want["anew"] = "with the view made anew"
	checkState(t, a, anybody, "users", "name", want)
	race.check(t, a, admin)

	// Everything can be had once more from the first cursor.
	for i := range transports {
		s := &subscriber{name: "latecomer", apis: apis, what: userChanges, after: begin, via: i}
		if err := s.run(t.Context()); err != nil {
			t.Error(err)
		}
		same(t, "the audience", "a latecomer", events, s.events)
	}
}

// claim makes a user with a unique email address.
func claim(id, name, email string) call {
	return call{
		Query:     `mutation ($input: CreateUserInput!) { done: createUser(input: $input) { id name } }`,
		Variables: map[string]any{"input": map[string]any{"id": id, "name": name, "email": email}},
	}
}

// race is a number of writers of whom each, in each round, wants a new user to
// have the same email address.
type race struct {
	*writers
	mu      sync.Mutex
	winners map[string]string // email to the id whose creation was acknowledged
	refused map[string]bool   // emails that somebody was told are taken
}

func newRace(t testing.TB, apis []*api, token string, n int) *race {
	t.Helper()
	r := &race{winners: map[string]string{}, refused: map[string]bool{}}
	l := newLedger()
	var list []func(context.Context) error
	for i := range n {
		c := &claimant{race: r, name: fmt.Sprintf("c%d", i), api: apis[i%len(apis)], token: token, ledger: l}
		list = append(list, func(ctx context.Context) error { return paced(ctx, c.round) })
	}
	r.writers = launch(t, l, list...)
	return r
}

type claimant struct {
	race     *race
	name     string
	api      *api
	token    string
	ledger   *ledger
	rounds   int
	attempts int
}

// round tries until it is told who has the email address of the round.
func (c *claimant) round(ctx context.Context) error {
	c.rounds++
	id, email := fmt.Sprintf("%s-%d", c.name, c.rounds), fmt.Sprintf("round%d@example.org", c.rounds)
	deadline := time.Now().Add(patience)
	for {
		c.attempts++
		name := fmt.Sprintf("%s attempt %d", c.name, c.attempts)
		c.ledger.attempt(name)
		_, err := mutate(context.Background(), c.api, c.token, claim(id, name, email), name)
		if err == nil {
			c.ledger.ack(name, id)
			return c.race.won(email, id)
		}
		c.ledger.failed(err)
		if refused, ok := errors.AsType[graphQLError](err); ok && refused.Extensions.Code == "CONFLICT" {
			c.race.taken(email)
			return nil
		} else if ok && !passing(refused) {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: no answer for %s: %w", c.name, patience, err)
		}
		if ctx.Err() != nil {
			return nil
		}
		pause(ctx, 20*time.Millisecond)
	}
}

func (r *race) won(email, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other, ok := r.winners[email]; ok {
		return fmt.Errorf("both %s and %s were given %s", other, id, email)
	}
	r.winners[email] = id
	return nil
}

func (r *race) taken(email string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[email] = true
}

// check compares what the claimants were told with the users that there are.
func (r *race) check(t testing.TB, a *api, admin string) {
	t.Helper()
	users, err := list(t.Context(), a.url, admin, "users", "id name email")
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	holders := map[string]string{}
	for id, u := range users {
		if other, twice := holders[u.Email]; twice {
			t.Errorf("%s and %s share %s", other, id, u.Email)
		}
		holders[u.Email] = id
	}
	for email, id := range r.winners {
		if holders[email] != id {
			t.Errorf("%s was acknowledged for %s; now %q has it", email, id, holders[email])
		}
	}
	for email := range r.refused {
		if holders[email] == "" {
			t.Errorf("%s was refused as taken, and nobody has it", email)
		}
	}
	t.Logf("%d users, %d email addresses won, %d refused to others", len(users), len(r.winners), len(r.refused))
}

//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// Unique values change hands while the process that keeps them is killed: an
// address that was given up is free, one that is held is not, and no crash
// leaves one behind that is taken but that nobody has.
func TestUniqueValuesChangeHandsWhileTheSingleProcessIsKilled(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := startAPI(t, "api", data, nil)
	admin := token(t, data, "root", "ADMIN")
	l := newLedger()
	var holders []*holder
	var list []func(context.Context) error
	for i := range 5 {
		h := &holder{apis: []*api{a}, id: fmt.Sprintf("holder%d", i), ledger: l}
		h.token = token(t, data, h.id, "USER")
		if _, err := mutate(t.Context(), a, h.token, claim(h.id, "new", h.own(0)), "new"); err != nil {
			t.Fatal(err)
		}
		holders = append(holders, h)
		list = append(list, func(ctx context.Context) error { return paced(ctx, h.step) })
	}
	w := launch(t, l, list...)
	for range 4 {
		w.progress(t, 60)
		a.kill(t)
		a.restart(t)
	}
	w.progress(t, 60)
	w.end(t)
	for i, h := range holders {
		if i == 0 {
			continue // it may keep the crown
		}
		if err := h.move(t.Context(), h.own(1)); err != nil {
			t.Error(err)
		}
	}
	checkHolders(t, a, admin, holders)
	t.Logf("%d changes acknowledged, the crown taken %d times; failures: %v", l.count(), crowned(holders), l.failures)
}

// crown is the address that all holders want.
const crown = "crown@example.org"

// holder is a user who takes the crown when nobody has it, and otherwise moves
// between addresses that nobody else wants.
type holder struct {
	apis     []*api // asked by turns
	id       string
	token    string
	ledger   *ledger
	attempts int
	crowns   atomic.Int64
}

// owned is how many addresses each holder has for itself.
const owned = 3

func (h *holder) own(i int) string { return fmt.Sprintf("%s.%d@example.org", h.id, i%owned) }

// step takes the crown, or moves on.
func (h *holder) step(ctx context.Context) error {
	err := h.move(ctx, crown)
	if refused, ok := errors.AsType[graphQLError](err); ok && refused.Extensions.Code == "CONFLICT" {
		err = nil
	} else if err == nil {
		h.crowns.Add(1)
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	return h.move(ctx, h.own(h.attempts)) // a conflict here is a fault
}

// move tries until it is told whether the address is the holder's.
func (h *holder) move(ctx context.Context, email string) error {
	deadline := time.Now().Add(patience)
	for {
		h.attempts++
		name := fmt.Sprintf("%s attempt %d", h.id, h.attempts)
		h.ledger.attempt(name)
		_, err := mutate(context.Background(), h.apis[h.attempts%len(h.apis)], h.token, call{
			Query:     `mutation ($input: UpdateUserInput!) { done: updateUser(input: $input) { id name } }`,
			Variables: map[string]any{"input": map[string]any{"id": h.id, "name": name, "email": email}},
		}, name)
		if err == nil {
			h.ledger.ack(name, h.id)
			return nil
		}
		h.ledger.failed(err)
		if refused, ok := errors.AsType[graphQLError](err); ok && !passing(refused) {
			return fmt.Errorf("%s to %s: %w", h.id, email, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: no answer for %s: %w", h.id, patience, err)
		}
		if ctx.Err() != nil {
			return nil
		}
		pause(ctx, 20*time.Millisecond)
	}
}

func crowned(holders []*holder) (n int64) {
	for _, h := range holders {
		n += h.crowns.Load()
	}
	return n
}

// checkHolders asks for every address there is: one that a user has must be
// refused, any other must be given to the first who asks.
func checkHolders(t testing.TB, a *api, admin string, holders []*holder) {
	t.Helper()
	users, err := list(t.Context(), a.url, admin, "users", "id name email")
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for id, u := range users {
		if other := held[u.Email]; other != "" {
			t.Errorf("%s and %s share %s", other, id, u.Email)
		}
		held[u.Email] = id
	}
	addresses := []string{crown}
	for _, h := range holders {
		for i := range owned {
			addresses = append(addresses, h.own(i))
		}
	}
	for i, email := range addresses {
		id := fmt.Sprintf("claimant%d", i)
		_, err := mutate(t.Context(), a, admin, claim(id, id, email), id)
		refused, _ := errors.AsType[graphQLError](err)
		switch {
		case held[email] == "" && err != nil:
			t.Errorf("nobody has %s, and still: %v", email, err)
		case held[email] != "" && refused.Extensions.Code != "CONFLICT":
			t.Errorf("%s has %s, and another who wants it gets: %v", held[email], email, err)
		}
	}
}

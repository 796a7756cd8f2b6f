package resource_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
)

// An update and a transaction take a value that was reserved in vain, too, also a
// transaction that creates the very record that never came.
func TestUpdatesAndTransactionsTakeAValueThatWasReservedInVain(t *testing.T) {
	t.Parallel()
	update := func(id, email string) resource.Change {
		return resource.Change{Type: "User", Verb: resource.Update, Input: fmt.Appendf(nil, `{"id":%q,"email":%q}`, id, email)}
	}
	create := func(id, email string) resource.Change {
		return resource.Change{Type: "User", Verb: resource.Create, Input: createUserWith(id, email).Input}
	}
	for what, changes := range map[string][]resource.Change{
		"update":           {update("bea", "a@example.com")},
		"create":           {create("dan", "a@example.com")},
		"of the same id":   {create("ghost", "g@example.com"), update("bea", "a@example.com")},
		"for its own":      {create("ghost", "a@example.com")},
		"and gives it on":  {update("bea", "a@example.com"), create("dan", "b@example.com")},
		"a single command": nil,
	} {
		b := bustest.New(t)
		w := resource.NewWorker(b, social(t), resource.WorkerOptions{})
		if _, err := w.Carry(t.Context(), createUserWith("bea", "b@example.com")); err != nil {
			t.Fatal(err)
		}
		reserveFor(t, b, "a@example.com", "ghost")
		var err error
		if changes == nil {
			c := update("bea", "a@example.com")
			_, err = w.Carry(t.Context(), resource.Command{Type: c.Type, Verb: c.Verb, Input: c.Input, Who: admin, ID: "alone"})
		} else {
			_, err = w.CarryAll(t.Context(), resource.Transaction{Who: admin, ID: onceID(t, 0)[:36], Changes: changes})
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if _, err := b.Append(t.Context(), userEntry(b, "ghost", "a@example.com")); !errors.Is(err, bus.ErrConflict) {
			t.Errorf("%s: the record came after its value was taken: %v", what, err)
		}
		if n := flawsOf(t, b); n != 0 {
			t.Errorf("%s: %d flaws", what, n)
		}
	}
}

// A worker gives back what it has reserved in vain while others want it: one of them
// gets it.
func TestAValueThatIsGivenBackGoesToOneOfThoseWhoWantIt(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for i := range 30 {
		email, taken := fmt.Sprintf("u%d@example.com", i), fmt.Sprintf("carol-%d", i)
		var meanwhile sync.Once
		vain := resource.NewWorker(b, social(t), resource.WorkerOptions{Now: func() time.Time {
			meanwhile.Do(func() { // after the worker has read that there is no such record
				if _, err := b.Append(t.Context(), userEntry(b, taken, "other-"+email)); err != nil {
					t.Error(err)
				}
			})
			return time.Now().UTC()
		}})
		var wg sync.WaitGroup
		errs := make([]error, 4)
		wg.Go(func() {
			if _, err := vain.Carry(t.Context(), createUserWith(taken, email)); !fault.Is(err, fault.Conflict) {
				t.Errorf("%s is there twice: %v", taken, err)
			}
		})
		for n := range errs {
			w := resource.NewWorker(b, social(t), resource.WorkerOptions{})
			wg.Go(func() { _, errs[n] = w.Carry(t.Context(), createUserWith(fmt.Sprintf("%d-%d", i, n), email)) })
		}
		wg.Wait()
		got := 0
		for _, err := range errs {
			switch {
			case err == nil:
				got++
			case !fault.Is(err, fault.Conflict):
				t.Errorf("%s: %v", email, err)
			}
		}
		if got != 1 {
			t.Errorf("%s was given %d times: %v", email, got, errs)
		}
	}
}

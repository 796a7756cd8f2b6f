package resource_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
)

func reserveFor(t *testing.T, b *bus.Bus, email, id string) (subject string, seq uint64) {
	t.Helper()
	subject = b.Subjects().Unique("User", "email", resource.Digest(fmt.Sprintf("%q", email)))
	seq, err := b.Append(t.Context(), bus.Entry{Subject: subject, Data: []byte(fmt.Sprintf(`{"id":%q}`, id))})
	if err != nil {
		t.Fatal(err)
	}
	return subject, seq
}

// userEntry is the record that a worker would append for a user who is not there.
func userEntry(b *bus.Bus, id, email string) bus.Entry {
	return bus.Entry{
		Subject: b.Subjects().Record("User", id),
		Header:  bus.Header{"Tidings-Kind": {"CREATED"}, "Tidings-Actor": {"admin"}, "Tidings-Command": {"other"}},
		Data:    []byte(fmt.Sprintf(`{"id":%q,"name":"n","email":%q,"createdAt":"2026-01-01T00:00:00Z"}`, id, email)),
	}
}

func createUserWith(id, email string) resource.Command {
	return resource.Command{Type: "User", Verb: resource.Create, Who: admin, ID: "c-" + id,
		Input: json.RawMessage(fmt.Sprintf(`{"id":%q,"name":"n","email":%q}`, id, email))}
}

func flawsOf(t *testing.T, b *bus.Bus) int {
	t.Helper()
	found, err := resource.CheckLog(t.Context(), b, social(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return found.Flaws()
}

func TestAValueThatIsReservedForARecordThatNeverCameIsFree(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	w := resource.NewWorker(b, social(t), resource.WorkerOptions{})
	reserveFor(t, b, "a@example.com", "ghost")
	if _, err := w.Carry(t.Context(), createUserWith("bea", "a@example.com")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), userEntry(b, "ghost", "a@example.com")); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("the record came after its value was taken: %v", err)
	}
	if _, err := w.Carry(t.Context(), createUserWith("ghost", "a@example.com")); !fault.Is(err, fault.Conflict) {
		t.Errorf("the value was given twice: %v", err)
	}
	if _, err := w.Carry(t.Context(), createUserWith("ghost", "g@example.com")); err != nil {
		t.Errorf("the record cannot come any more: %v", err)
	}
	if n := flawsOf(t, b); n != 0 {
		t.Errorf("%d flaws", n)
	}
}

// The worker that has reserved a value, and the one that wants it, race for the
// record's place, wherever the one is when the other begins.
func TestAValueIsGivenOnceHoweverLateItsRecordComes(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	w := resource.NewWorker(b, social(t), resource.WorkerOptions{})
	var first, second atomic.Int64
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			email, id := fmt.Sprintf("u%d@example.com", i), fmt.Sprintf("slow-%d", i)
			reserveFor(t, b, email, id)
			var one, other error
			var both sync.WaitGroup
			both.Go(func() {
				for range i { // it is the race that is wanted: some come at once, some too late
					if _, err := b.Last(t.Context(), b.Subjects().Record("User", id)); err != nil {
						t.Error(err)
					}
				}
				_, one = b.Append(t.Context(), userEntry(b, id, email))
			})
			both.Go(func() { _, other = w.Carry(t.Context(), createUserWith(fmt.Sprintf("fast-%d", i), email)) })
			both.Wait()
			switch {
			case one == nil && fault.Is(other, fault.Conflict):
				first.Add(1)
			case errors.Is(one, bus.ErrConflict) && other == nil:
				second.Add(1)
			default:
				t.Errorf("%s: the one %v, the other %v", email, one, other)
			}
		})
	}
	wg.Wait()
	t.Logf("%d records came in time, %d did not", first.Load(), second.Load())
	if n := flawsOf(t, b); n != 0 {
		t.Errorf("%d flaws", n)
	}
}

func TestAValueThatWasReservedInVainIsGivenBack(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	var meanwhile sync.Once
	w := resource.NewWorker(b, social(t), resource.WorkerOptions{Now: func() time.Time {
		meanwhile.Do(func() { // after the worker has read that there is no such record
			if _, err := b.Append(t.Context(), userEntry(b, "carol", "c@example.com")); err != nil {
				t.Error(err)
			}
		})
		return time.Now().UTC()
	}})
	if _, err := w.Carry(t.Context(), createUserWith("carol", "a@example.com")); !fault.Is(err, fault.Conflict) {
		t.Fatal(err)
	}
	m, err := b.Last(t.Context(), b.Subjects().Unique("User", "email", resource.Digest(`"a@example.com"`)))
	if err != nil || m == nil || string(m.Data) != "{}" {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestARepairTakesNoValueFromARecordOnItsWay(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	subject, _ := reserveFor(t, b, "a@example.com", "ghost")
	found, err := resource.CheckLog(t.Context(), b, social(t), nil)
	if err != nil || found.OrphanCount != 1 {
		t.Fatal(found, err)
	}
	if _, err := b.Append(t.Context(), userEntry(b, "ghost", "a@example.com")); err != nil {
		t.Fatal(err)
	}
	if mended, err := resource.RepairLog(t.Context(), b, social(t), found, nil); mended != 0 || err != nil {
		t.Errorf("%d mended, %v", mended, err)
	}
	if m, err := b.Last(t.Context(), subject); err != nil || string(m.Data) != `{"id":"ghost"}` {
		t.Errorf("got %s, %v", m.Data, err)
	}
	reserveFor(t, b, "b@example.com", "other")
	if found, err = resource.CheckLog(t.Context(), b, social(t), nil); err != nil {
		t.Fatal(err)
	}
	if mended, err := resource.RepairLog(t.Context(), b, social(t), found, nil); mended != 1 || err != nil {
		t.Errorf("%d mended, %v", mended, err)
	}
	if _, err := b.Append(t.Context(), userEntry(b, "other", "b@example.com")); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("the record came after its value was released: %v", err)
	}
}

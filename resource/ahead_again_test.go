package resource_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

func createHandle(command, name string, since uint64) resource.Command {
	return resource.Command{Type: "Handle", Verb: resource.Create, Who: admin, ID: command, Once: &resource.Once{Since: since},
		Input: json.RawMessage(fmt.Sprintf(`{"name":%q}`, name))}
}

func eager(b *bus.Bus, m *schema.Model) *resource.Worker {
	return resource.ReserveAhead(resource.NewWorker(b, m, resource.WorkerOptions{}))
}

// A worker died, or stands still, between the reservation and the record. The same
// command that comes again takes the reservation for its own, and what the first one
// still sends comes too late.
func TestACommandSentAgainFindsItsOwnReservation(t *testing.T) {
	t.Parallel()
	elsewhere := resourcetest.Reader(t, bustest.New(t), storm, resource.FeedOptions{})
	s := resourcetest.Reader(t, bustest.New(t), storm, resource.FeedOptions{})
	cmd := createHandle(onceID(t, 0), "lost", 0)
	told, err := eager(elsewhere.Bus, s.Model).Carry(t.Context(), cmd) // which id comes of it
	if err != nil {
		t.Fatal(err)
	}
	id := idOf(t, told)
	subject := s.Bus.Subjects().Unique("Handle", "name", resource.Digest(`"lost"`))
	if _, err := s.Bus.Append(t.Context(), bus.Entry{Subject: subject, Data: fmt.Appendf(nil, `{"id":%q}`, id)}); err != nil {
		t.Fatal(err)
	}
	first, err := eager(s.Bus, s.Model).Carry(t.Context(), cmd)
	if err != nil || idOf(t, first) != id {
		t.Fatalf("%s, %v", first.Raw, err)
	}
	late := bus.Entry{Subject: s.Bus.Subjects().Record("Handle", id), Data: told.Raw,
		Header: bus.Header{"Tidings-Kind": {"CREATED"}, "Tidings-Actor": {"root"}, "Tidings-Command": {cmd.ID}}}
	if _, err := s.Bus.Append(t.Context(), late); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("it was stored twice: %v", err)
	}
	last := end(t, s.Bus)
	again, err := eager(s.Bus, s.Model).Carry(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "create", first, again)
	if now := end(t, s.Bus); now != last {
		t.Errorf("the log went on from %d to %d", last, now)
	}
	if _, err := eager(s.Bus, s.Model).Carry(t.Context(), createHandle(onceID(t, 1), "lost", 0)); !fault.Is(err, fault.Conflict) {
		t.Errorf("another command: %v", err)
	}
}

// Workers that have nothing in common but the log get one command, some reserve
// ahead and some do not, and others want its value.
func TestOneOfManyWhoSendACommandWithAUniqueValueWrites(t *testing.T) {
	t.Parallel()
	s := resourcetest.Reader(t, bustest.New(t), storm, resource.FeedOptions{})
	for i := range 20 {
		name, before := fmt.Sprintf("n%d", i), end(t, s.Bus)
		mine, other := createHandle(onceID(t, 0), name, before), createHandle(onceID(t, 1), name, before)
		mine.Once.First = i%2 == 0
		var wg sync.WaitGroup
		records, errs := make([]resource.Record, 8), make([]error, 8)
		for n := range records {
			w := eager(s.Bus, s.Model)
			if n%4 == 3 {
				w = resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{})
			}
			wg.Go(func() { records[n], errs[n] = w.Carry(t.Context(), []resource.Command{mine, other}[n%2]) })
		}
		wg.Wait()
		won := 0
		for n := range 2 { // all of one command are answered alike
			for k := n; k < len(records); k += 2 {
				if errs[k] != nil && !fault.Is(errs[k], fault.Conflict) || (errs[k] == nil) != (errs[n] == nil) {
					t.Fatalf("%s: %v, and %v", name, errs[n], errs[k])
				}
				same(t, name, records[n], records[k])
			}
			if errs[n] == nil {
				won++
			}
		}
		if won != 1 {
			t.Fatalf("%s: %d commands got it: %v", name, won, errs)
		}
	}
	found, err := resource.CheckLog(t.Context(), s.Bus, s.Model, nil)
	if err != nil || found.Flaws() != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// Nobody knows whether the reservation, or the record, was stored.
func TestALostAnswerToAReservationIsNoConflict(t *testing.T) {
	t.Parallel()
	s := resourcetest.Reader(t, bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"}), storm, resource.FeedOptions{})
	for what, where := range map[string]string{"reservation": s.Bus.Subjects().Uniques(), "record": "Tidings-Command: "} {
		proxy := newCutter(t, s.Bus.URL(), where)
		w := eager(bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true}), s.Model)
		proxy.cuts.Store(1)
		r, err := w.Carry(t.Context(), createHandle(onceID(t, 0), what, end(t, s.Bus)))
		if err != nil || proxy.cuts.Load() != 0 {
			t.Errorf("%s: %v, %d cuts to come", what, err, proxy.cuts.Load())
			continue
		}
		if _, err := w.Carry(t.Context(), createHandle(onceID(t, 1), what, 0)); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s, which %s has: %v", what, idOf(t, r), err)
		}
	}
	found, err := resource.CheckLog(t.Context(), s.Bus, s.Model, nil)
	if err != nil || found.Flaws() != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// Whoever wants a value that a record has is refused, without a tombstone, and
// without another message.
func TestAValueThatARecordHasIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := resourcetest.Reader(t, bustest.New(t), storm, resource.FeedOptions{})
	w := eager(s.Bus, s.Model)
	if _, err := w.Carry(t.Context(), createHandle(onceID(t, 0), "taken", 0)); err != nil {
		t.Fatal(err)
	}
	last := end(t, s.Bus)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if _, err := w.Carry(t.Context(), createHandle(onceID(t, i), "taken", 0)); !fault.Is(err, fault.Conflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if now := end(t, s.Bus); now != last {
		t.Errorf("the log went on from %d to %d", last, now)
	}
}

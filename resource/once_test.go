package resource_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
)

func onceID(t testing.TB, n int) string {
	t.Helper()
	seed, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s-%d", seed, n)
}

// writers are workers that share nothing but the log.
func writers(t *testing.T, o bus.Options) (b *bus.Bus, one, two *resource.Worker) {
	t.Helper()
	b = bustest.Open(t, o)
	return b, resource.NewWorker(b, social(t), resource.WorkerOptions{}), resource.NewWorker(b, social(t), resource.WorkerOptions{})
}

func carryOn(t *testing.T, w *resource.Worker, id string, since uint64, verb resource.Verb, input string) resource.Record {
	t.Helper()
	r, err := w.Carry(t.Context(), resource.Command{Type: "Post", Verb: verb, Who: alice, ID: id,
		Input: json.RawMessage(input), Once: &resource.Once{Since: since}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func same(t *testing.T, what string, first, again resource.Record) {
	t.Helper()
	if string(first.Raw) != string(again.Raw) || first.Seq != again.Seq {
		t.Errorf("%s: first %s at %d, again %s at %d", what, first.Raw, first.Seq, again.Raw, again.Seq)
	}
}

func end(t testing.TB, b *bus.Bus) uint64 {
	t.Helper()
	_, last, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func TestACommandThatHappensOnceIsAnsweredTheSameAgain(t *testing.T) {
	t.Parallel()
	b, one, two := writers(t, bus.Options{})
	create, update, remove := onceID(t, 0), onceID(t, 1), onceID(t, 2)
	created := carryOn(t, one, create, 0, resource.Create, `{"title":"T"}`)
	var post struct{ ID string }
	if err := json.Unmarshal(created.Raw, &post); err != nil {
		t.Fatal(err)
	}
	if u, err := uuid.Parse(post.ID); err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 {
		t.Errorf("the id %s: %v", post.ID, err)
	}
	since := created.Seq
	updated := carryOn(t, one, update, since, resource.Update, `{"id":"`+post.ID+`","title":"U"}`)
	carryOn(t, one, onceID(t, 0), since, resource.Update, `{"id":"`+post.ID+`","title":"V"}`)
	deleted := carryOn(t, one, remove, since, resource.Delete, `{"id":"`+post.ID+`"}`)
	last := end(t, b)
	same(t, "create", created, carryOn(t, two, create, 0, resource.Create, `{"title":"T"}`))
	same(t, "update", updated, carryOn(t, two, update, since, resource.Update, `{"id":"`+post.ID+`","title":"U"}`))
	same(t, "delete", deleted, carryOn(t, two, remove, since, resource.Delete, `{"id":"`+post.ID+`"}`))
	if end(t, b) != last {
		t.Errorf("the log went on from %d to %d", last, end(t, b))
	}
}

func TestOfManyWhoSendACommandThatHappensOnceOneWrites(t *testing.T) {
	t.Parallel()
	b, one, two := writers(t, bus.Options{})
	created := carryOn(t, one, onceID(t, 0), 0, resource.Create, `{"title":"T"}`)
	var post struct{ ID string }
	if err := json.Unmarshal(created.Raw, &post); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		before := end(t, b)
		create, update := onceID(t, i), onceID(t, i)
		var wg sync.WaitGroup
		records := make([]resource.Record, 8)
		for n := range records {
			w := []*resource.Worker{one, two}[n%2]
			wg.Go(func() {
				cmd := resource.Command{Type: "Post", Verb: resource.Create, Who: alice, ID: create,
					Input: json.RawMessage(`{"title":"T"}`), Once: &resource.Once{Since: before}}
				if n >= 4 {
					cmd.Verb, cmd.ID, cmd.Input = resource.Update, update, json.RawMessage(`{"id":"`+post.ID+`","title":"U"}`)
				}
				var err error
				if records[n], err = w.Carry(t.Context(), cmd); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for n := range 3 {
			same(t, "create", records[0], records[n+1])
			same(t, "update", records[4], records[n+5])
		}
		if now := end(t, b); now != before+2 {
			t.Fatalf("two commands wrote %d times", now-before)
		}
	}
}

func TestWhatTheLogNoLongerTellsIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	b, one, two := writers(t, bus.Options{History: 2})
	created := carryOn(t, one, onceID(t, 0), 0, resource.Create, `{"title":"T"}`)
	var post struct{ ID string }
	if err := json.Unmarshal(created.Raw, &post); err != nil {
		t.Fatal(err)
	}
	lost, since := onceID(t, 1), created.Seq
	input := `{"id":"` + post.ID + `","title":"U"}`
	carryOn(t, one, lost, since, resource.Update, input)
	for i := range 3 {
		carryOn(t, one, onceID(t, i), end(t, b), resource.Update, input)
	}
	last := end(t, b)
	_, err := two.Carry(t.Context(), resource.Command{Type: "Post", Verb: resource.Update, Who: alice, ID: lost,
		Input: json.RawMessage(input), Once: &resource.Once{Since: since}})
	if !fault.Is(err, fault.Conflict) || end(t, b) != last {
		t.Errorf("%v; the log went from %d to %d", err, last, end(t, b))
	}
	carryOn(t, two, onceID(t, 2), last, resource.Update, input) // the first time
	if _, err := two.Carry(t.Context(), resource.Command{Type: "Post", Verb: resource.Update, Who: alice, ID: onceID(t, 3),
		Input: json.RawMessage(input), Once: &resource.Once{First: true}}); err != nil {
		t.Errorf("sent for the first time, from a process that is far behind: %v", err)
	}
}

// A worker that stood still with a command while its caller sent it again, and
// others changed the record so often that the log has trimmed what came of it,
// does not carry it out once more when it goes on.
func TestACommandThatLayAboutWhileItWasSentAgainIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	b, one, two := writers(t, bus.Options{History: 2})
	created := carryOn(t, one, onceID(t, 0), 0, resource.Create, `{"title":"T"}`)
	var post struct{ ID string }
	if err := json.Unmarshal(created.Raw, &post); err != nil {
		t.Fatal(err)
	}
	seed, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	var sent [8]byte
	binary.BigEndian.PutUint64(sent[:], uint64(time.Now().Add(-5*time.Second).UnixMilli())<<16)
	copy(seed[:6], sent[:6])
	id, input := seed.String(), `{"id":"`+post.ID+`","title":"U"}`
	carryOn(t, one, id, created.Seq, resource.Update, input) // as it was sent again
	for i := range 3 {
		carryOn(t, one, onceID(t, i), end(t, b), resource.Update, `{"id":"`+post.ID+`","title":"V"}`)
	}
	last := end(t, b)
	late := resource.Once{Since: created.Seq, First: true}
	if _, err := two.Carry(t.Context(), resource.Command{Type: "Post", Verb: resource.Update, Who: alice, ID: id, Input: json.RawMessage(input), Once: &late}); !fault.Is(err, fault.Conflict) || end(t, b) != last {
		t.Errorf("%v; the log went from %d to %d", err, last, end(t, b))
	}
	tx := resource.Transaction{Who: alice, ID: id, Once: &late, Changes: []resource.Change{{Type: "Post", Verb: resource.Update, Input: json.RawMessage(input)}}}
	if _, err := two.CarryAll(t.Context(), tx); !fault.Is(err, fault.Conflict) || end(t, b) != last {
		t.Errorf("in a transaction: %v; the log went from %d to %d", err, last, end(t, b))
	}
}

func TestTheIDOfACommandThatHappensOnceBeginsWithAUUID(t *testing.T) {
	t.Parallel()
	_, one, _ := writers(t, bus.Options{})
	for _, id := range []string{"x", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "not-a-uuid-but-as-long-as-one-of-them"} {
		_, err := one.Carry(t.Context(), resource.Command{Type: "Post", Verb: resource.Create, Who: alice, ID: id,
			Input: json.RawMessage(`{"title":"T"}`), Once: &resource.Once{}})
		if !fault.Is(err, fault.BadRequest) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

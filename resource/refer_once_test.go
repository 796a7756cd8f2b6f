package resource_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// A worker that dies after the append has answered nobody; the one that is asked
// next finds in the log what it did, with all that followed from it.
func TestADeletionWithConsequencesHappensOnce(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	team := made(t, s, "Team", `{"name":"t"}`)
	made(t, s, "Note", `{"memberId":%q}`, made(t, s, "Member", `{"teamId":%q}`, team))
	one, two := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{Reads: s.Client}), resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{Reads: s.Client})
	cmd := resource.Command{Type: "Team", Verb: resource.Delete, Who: admin, ID: onceID(t, 1), Input: fmt.Appendf(nil, `{"id":%q}`, team), Once: &resource.Once{Since: end(t, s.Bus), First: true}}
	first, err := one.Carry(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	after := end(t, s.Bus)
	cmd.Once = &resource.Once{Since: cmd.Once.Since}
	again, err := two.Carry(t.Context(), cmd)
	if err != nil || end(t, s.Bus) != after {
		t.Errorf("again: %v, the log ends at %d, not %d", err, end(t, s.Bus), after)
	}
	same(t, "the deletion", first, again)

	team = made(t, s, "Team", `{"name":"u"}`)
	create := resource.Command{Type: "Member", Verb: resource.Create, Who: admin, ID: onceID(t, 2), Input: fmt.Appendf(nil, `{"teamId":%q}`, team), Once: &resource.Once{Since: end(t, s.Bus)}}
	first, err = one.Carry(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	if err := try(t, s, "Team", resource.Delete, `{"id":%q}`, team); err != nil {
		t.Fatal(err)
	}
	again, err = two.Carry(t.Context(), create) // its team has gone since, and it with it
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the creation", first, again)
}

func TestALostAcknowledgementOfADeletionWithConsequencesIsFound(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	s := resourcetest.On(t, server, club, resource.FeedOptions{})
	proxy := newCutter(t, server.URL(), "Nats-Batch-Commit: 1")
	b := bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true})
	w := resource.NewWorker(b, s.Model, resource.WorkerOptions{Reads: s.Client})
	team := made(t, s, "Team", `{"name":"t"}`)
	member := made(t, s, "Member", `{"teamId":%q}`, team)
	note := made(t, s, "Note", `{"memberId":%q}`, member)
	proxy.cuts.Store(1)
	gone, err := w.Carry(t.Context(), resource.Command{Type: "Team", Verb: resource.Delete, Who: admin, ID: "cut-1", Input: fmt.Appendf(nil, `{"id":%q}`, team)})
	if err != nil || !contains(gone.Raw, `"name":"t"`) || proxy.cuts.Load() != 0 {
		t.Errorf("%s, %v", gone.Raw, err)
	}
	changes := 0
	for _, subject := range []string{b.Subjects().Record("Team", team), b.Subjects().Record("Member", member), b.Subjects().Record("Note", note)} {
		if _, err := server.Read(t.Context(), subject, 0, end(t, server), func(bus.Message) error { changes++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if changes != 6 {
		t.Errorf("three records were created and changed by %d messages", changes)
	}
}

func TestAChangeMayExpectTheVersionOfItsRecord(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	version := func(raw []byte) float64 {
		var record struct{ Version float64 }
		if err := json.Unmarshal(raw, &record); err != nil {
			t.Fatal(err)
		}
		return record.Version
	}
	change := func(verb resource.Verb, input string) (float64, error) {
		r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Profile", Verb: verb, Who: alice, Input: json.RawMessage(input)})
		if err != nil {
			return 0, err
		}
		return version(r.Raw), nil
	}
	for _, c := range []struct {
		verb  resource.Verb
		input string
		want  float64 // 0: a conflict
		told  int64
	}{
		{resource.Create, `{"id":"alice"}`, 1, 0},
		{resource.Update, `{"id":"alice","friendId":null}`, 2, 0},
		{resource.Update, `{"id":"alice","expectedVersion":1}`, 0, 2},
		{resource.Update, `{"id":"alice","expectedVersion":2}`, 3, 0},
		{resource.Update, `{"id":"alice","expectedVersion":null}`, 4, 0},
		{resource.Delete, `{"id":"alice","expectedVersion":3}`, 0, 4},
		{resource.Delete, `{"id":"alice","expectedVersion":4}`, 4, 0}, // the record as it was
		{resource.Create, `{"id":"alice"}`, 6, 0},                     // the deletion was the fifth
	} {
		got, err := change(c.verb, c.input)
		if c.want > 0 && (err != nil || got != c.want) {
			t.Errorf("%s %s: version %v, %v", c.verb, c.input, got, err)
		}
		if f := fault.Of(err); c.want == 0 && (f == nil || f.Code != fault.Conflict || f.CurrentVersion == nil || *f.CurrentVersion != c.told || f.Field != "input.expectedVersion") {
			t.Errorf("%s %s: %v", c.verb, c.input, err)
		}
	}
	for input, want := range map[string]string{
		`{"id":"alice","expectedVersion":"6"}`: "expectedVersion must be a whole number",
		`{"id":"alice","version":7}`:           `Profile has no field "version" that can be set`,
	} {
		if _, err := change(resource.Update, input); !fault.Is(err, fault.BadUserInput) || fault.Of(err).Message != want {
			t.Errorf("%s: %v", input, err)
		}
	}
	if _, err := s.Client.Submit(t.Context(), resource.Command{Type: "Team", Verb: resource.Update, Who: alice, Input: json.RawMessage(`{"id":"x","expectedVersion":1}`)}); !fault.Is(err, fault.BadUserInput) {
		t.Errorf("a type without versions: %v", err)
	}
}

// Of those who read one version and change the record, one gets through.
func TestOfThoseWhoExpectOneVersionOneSucceeds(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	services := []*resourcetest.Service{resourcetest.On(t, b, club, resource.FeedOptions{}), resourcetest.On(t, b, club, resource.FeedOptions{})}
	made(t, services[0], "Profile", `{"id":"p"}`)
	const rounds, writers = 20, 8
	for round := range rounds {
		results := make(chan error, writers)
		for w := range writers {
			go func() {
				results <- try(t, services[w%2], "Profile", resource.Update, `{"id":"p","expectedVersion":%d}`, round+1)
			}()
		}
		won := 0
		for range writers {
			switch err := <-results; {
			case err == nil:
				won++
			case !fault.Is(err, fault.Conflict):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("round %d: %d succeeded", round, won)
		}
	}
}

func TestOfReferencesToADeletedRecordNothingIsLeftAfterTheGrace(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	time0 := &clock{time.Now()}
	e := eraser(t, s.Bus, s.Model, time0)
	team, kept := made(t, s, "Team", `{"name":"t"}`), made(t, s, "Team", `{"name":"k"}`)
	made(t, s, "Member", `{"teamId":%q}`, team)
	made(t, s, "Member", `{"teamId":%q}`, kept)
	if err := try(t, s, "Team", resource.Delete, `{"id":%q}`, team); err != nil {
		t.Fatal(err)
	}
	time0.Time = time0.Add(2 * time.Hour)
	pass(t, e)
	for id, there := range map[string]bool{team: false, kept: true} {
		m, err := s.Bus.Last(t.Context(), s.Bus.Subjects().Reference("Team", id))
		if err != nil || (m != nil) != there {
			t.Errorf("there %t: %+v, %v", there, m, err)
		}
	}
	if err := try(t, s, "Member", resource.Create, `{"teamId":%q}`, team); !fault.Is(err, fault.BadUserInput) {
		t.Errorf("a deleted team: %v", err)
	}
	if err := try(t, s, "Team", resource.Delete, `{"id":%q}`, kept); err != nil {
		t.Error(err)
	}
}

package resource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// flood lets so many callers for each service change records without pause until
// stop, each by what next says. It returns when they have made some changes; stop
// says how many were made in all, and how many refused.
func flood(t *testing.T, services []*resourcetest.Service, callers int, next func(ctx context.Context, s *resourcetest.Service, n int) error) (stop func() (made, refused int64)) {
	t.Helper()
	patient := unhurried(t)
	ctx, cancel := context.WithCancel(patient)
	var wg sync.WaitGroup
	var made, refused atomic.Int64
	going, enough := make(chan struct{}), int64(callers*len(services))
	for n := range callers * len(services) {
		s := services[n%len(services)]
		wg.Go(func() {
			for ctx.Err() == nil {
				switch err := next(patient, s, n); {
				case err == nil:
					if made.Add(1) == enough {
						close(going)
					}
				case fault.Is(err, fault.BadUserInput), fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound):
					refused.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	stop = sync.OnceValues(func() (int64, int64) {
		cancel()
		wg.Wait()
		return made.Load(), refused.Load()
	})
	t.Cleanup(func() { stop() })
	select {
	case <-going:
	case <-patient.Done():
		t.Fatal("nobody writes")
	}
	return stop
}

func demand(ctx context.Context, s *resourcetest.Service, typ string, verb resource.Verb, format string, args ...any) (resource.Record, error) {
	return s.Client.Submit(ctx, resource.Command{Type: typ, Verb: verb, Who: admin, Input: json.RawMessage(fmt.Sprintf(format, args...))})
}

// Notes are led to a member, and members made in a team, without pause and by
// way of two workers: the member and the team can be deleted all the same.
func TestARecordToWhichOthersReferWithoutPauseCanBeDeleted(t *testing.T) {
	t.Parallel()
	b := bustest.Dir(t, t.TempDir())
	services := []*resourcetest.Service{resourcetest.On(t, b, club, resource.FeedOptions{}), resourcetest.On(t, b, club, resource.FeedOptions{})}
	team := made(t, services[0], "Team", `{"name":"t"}`)
	member := made(t, services[0], "Member", `{"teamId":%q}`, made(t, services[0], "Team", `{"name":"u"}`))
	var notes []string
	for range 24 {
		notes = append(notes, made(t, services[0], "Note", `{}`))
	}
	led := flood(t, services, 12, func(ctx context.Context, s *resourcetest.Service, n int) error {
		if _, err := demand(ctx, s, "Note", resource.Update, `{"id":%q,"memberId":%q}`, notes[n], member); err != nil {
			return err
		}
		_, err := demand(ctx, s, "Note", resource.Update, `{"id":%q,"memberId":null}`, notes[n])
		return err
	})
	joined := flood(t, services, 4, func(ctx context.Context, s *resourcetest.Service, _ int) error {
		r, err := demand(ctx, s, "Member", resource.Create, `{"teamId":%q}`, team)
		if err == nil {
			_, err = demand(ctx, s, "Member", resource.Delete, `{"id":%q}`, idOf(t, r))
		}
		return err
	})
	for typ, id := range map[string]string{"Member": member, "Team": team} {
		if _, err := demand(unhurried(t), services[0], typ, resource.Delete, `{"id":%q}`, id); err != nil {
			t.Errorf("the %s: %v", typ, err)
		}
	}
	for name, stop := range map[string]func() (int64, int64){"notes": led, "members": joined} {
		made, refused := stop()
		t.Logf("%s: %d made, %d refused", name, made, refused)
	}
	assertNothingDangles(t, b, services[0])
}

// Badges are given to a member and taken away again without pause, so that now
// and then there is none: the deletion that they restrict comes to an end within
// its time, whichever, and is right.
func TestADeletionThatIsRestrictedNowAndThenIsRightEitherWay(t *testing.T) {
	t.Parallel()
	b := bustest.Dir(t, t.TempDir())
	services := []*resourcetest.Service{resourcetest.On(t, b, club, resource.FeedOptions{}), resourcetest.On(t, b, club, resource.FeedOptions{})}
	member := made(t, services[0], "Member", `{"teamId":%q}`, made(t, services[0], "Team", `{"name":"u"}`))
	stop := flood(t, services, 1, func(ctx context.Context, s *resourcetest.Service, _ int) error {
		r, err := demand(ctx, s, "Badge", resource.Create, `{"memberId":%q}`, member)
		if err == nil {
			_, err = demand(ctx, s, "Badge", resource.Delete, `{"id":%q}`, idOf(t, r))
		}
		return err
	})
	refused := 0
	for {
		_, err := demand(unhurried(t), services[0], "Member", resource.Delete, `{"id":%q}`, member)
		if err == nil {
			break
		}
		if refused++; !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "while records refer to it: 1 by") && !strings.Contains(err.Error(), "while records refer to it: 2 by") {
			t.Fatal(err)
		}
	}
	made, lost := stop()
	t.Logf("deleted after %d refusals; %d badges made, %d refused", refused, made, lost)
	assertNothingDangles(t, b, services[0])
}

// closes says in the log that a record is about to be deleted, or is not.
func closes(t *testing.T, b *bus.Bus, typ, id, note string) {
	t.Helper()
	last, err := b.Last(t.Context(), b.Subjects().Record(typ, id))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Reference(typ, id), Data: []byte(note), Of: last.Subject, After: last.Seq}); err != nil {
		t.Fatal(err)
	}
}

func TestWhoClosesARecordAndDiesHoldsNobodyUpForLong(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	team := made(t, s, "Team", `{"name":"t"}`)
	member := made(t, s, "Member", `{"teamId":%q}`, team)
	began := time.Now()
	closes(t, s.Bus, "Team", team, `{"closing":{"command":"c","for":1500}}`)
	if err := s.Client.WaitFor(t.Context(), end(t, s.Bus)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for what, change := range map[string]func() error{
		"a reference": func() error { return try(t, s, "Member", resource.Create, `{"teamId":%q}`, team) },
		"what refers": func() error { return try(t, s, "Member", resource.Update, `{"id":%q,"name":"n"}`, member) },
		"the record":  func() error { return try(t, s, "Team", resource.Update, `{"id":%q,"name":"n"}`, team) },
		"a transaction": func() error {
			_, err := s.Client.Transact(t.Context(), resource.Transaction{Who: admin, Changes: []resource.Change{change("Note", resource.Create, `{"teamId":%q}`, team)}})
			return err
		},
	} {
		wg.Go(func() {
			if err := change(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if took := time.Since(began); took < 1500*time.Millisecond {
				t.Errorf("%s did not wait: %v", what, took)
			}
		})
	}
	wg.Wait()
}

func TestWhoWaitsForADeletionGoesOnWhenItIsGivenUp(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	team, other := made(t, s, "Team", `{"name":"t"}`), made(t, s, "Team", `{"name":"o"}`)
	began := time.Now()
	closes(t, s.Bus, "Team", team, `{"closing":{"command":"c","for":9000}}`)
	if err := s.Client.WaitFor(t.Context(), end(t, s.Bus)); err != nil {
		t.Fatal(err)
	}
	made(t, s, "Member", `{"teamId":%q}`, other) // another one's is not held up
	done := make(chan error, 1)
	go func() { done <- try(t, s, "Member", resource.Create, `{"teamId":%q}`, team) }()
	closes(t, s.Bus, "Team", team, `{"opened":{"command":"another"}}`)
	if err := s.Client.WaitFor(t.Context(), end(t, s.Bus)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Errorf("it was closed: %v", err)
	default:
	}
	closes(t, s.Bus, "Team", team, `{"opened":{"command":"c"}}`)
	if err := <-done; err != nil || time.Since(began) >= 9*time.Second {
		t.Errorf("opened: %v after %v", err, time.Since(began))
	}
}

// Whose time is over while somebody else deletes is told so; but not that nothing
// has happened, if another worker may have the command, too.
func TestWhoseTimeIsOverInARaceIsToldWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	team := made(t, s, "Team", `{"name":"t"}`)
	closes(t, s.Bus, "Team", team, `{"closing":{"command":"c","for":9000}}`)
	if err := s.Client.WaitFor(t.Context(), end(t, s.Bus)); err != nil {
		t.Fatal(err)
	}
	w := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{Reads: s.Client})
	for code, once := range map[fault.Code]*resource.Once{fault.Conflict: nil, fault.Timeout: {Since: end(t, s.Bus), First: true}} {
		for verb, cmd := range map[string]resource.Command{
			"a reference": {Type: "Member", Verb: resource.Create, Input: fmt.Appendf(nil, `{"teamId":%q}`, team)},
			"the record":  {Type: "Team", Verb: resource.Update, Input: fmt.Appendf(nil, `{"id":%q,"name":"n"}`, team)},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			cmd.Who, cmd.ID, cmd.Once = admin, resource.NewCommandID(), once
			if _, err := w.Carry(ctx, cmd); !fault.Is(err, code) {
				t.Errorf("%s: %v, want %s", verb, err, code)
			}
		}
	}
}

package resource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

var socialDir = os.DirFS("../examples/social")

func submit(t testing.TB, s *resourcetest.Service, cmd resource.Command) resource.Record {
	t.Helper()
	r, err := s.Client.Submit(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func createUser(name string) resource.Command {
	return resource.Command{Type: "User", Verb: resource.Create, Who: partner,
		Input: json.RawMessage(fmt.Sprintf(`{"id":%q,"name":%q,"email":"%s@example.com"}`, name, name, name))}
}

func TestAWriteIsReadAfterItsPosition(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	r := submit(t, s, createUser("carol"))
	if err := s.Client.WaitFor(t.Context(), r.Seq); err != nil {
		t.Fatal(err)
	}
	found, err := s.Client.Get(t.Context(), anonymous, "User", []string{"carol", "nobody"})
	if err != nil || string(found[0].Raw) != string(r.Raw) || found[1].Raw != nil || found[1].Err != nil {
		t.Errorf("found %s, %v", found, err)
	}
}

func TestTheNextReadHereSeesTheWrite(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	for i := range 50 {
		name := fmt.Sprintf("u%d", i)
		submit(t, s, createUser(name))
		if found, err := s.Client.Get(t.Context(), anonymous, "User", []string{name}); err != nil || found[0].Raw == nil {
			t.Fatalf("%s is not there: %v", name, err)
		}
	}
}

func TestWhoMayNotCreateIsToldSoFirst(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	_, err := s.Client.Submit(t.Context(), resource.Command{Type: "User", Verb: resource.Create, Who: anonymous, Input: json.RawMessage(`{"name":"x","email":"x@example.com"}`)})
	if !fault.Is(err, fault.Forbidden) {
		t.Errorf("got %v", err)
	}
}

func TestADeletedRecordIsGoneAndCanComeBack(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	submit(t, s, createUser("carol"))
	gone := submit(t, s, resource.Command{Type: "User", Verb: resource.Delete, Who: admin, Input: json.RawMessage(`{"id":"carol"}`)})
	if err := s.Client.WaitFor(t.Context(), gone.Seq); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Client.Get(t.Context(), admin, "User", []string{"carol"}); err != nil || found[0].Raw != nil {
		t.Errorf("after the delete: %s, %v", found, err)
	}
	if _, err := s.Client.Submit(t.Context(), resource.Command{Type: "User", Verb: resource.Update, Who: admin, Input: json.RawMessage(`{"id":"carol","name":"x"}`)}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an update after the delete: %v", err)
	}
	submit(t, s, createUser("carol")) // the name and the email are free again
}

// Of many writers who want one email at the same time exactly one gets it, and
// after renames and deletes the reservations are those of the live records.
func TestUniqueValuesHoldUnderConcurrentWriters(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	var wins, conflicts atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			cmd := createUser(fmt.Sprintf("u%d", i))
			cmd.Input = json.RawMessage(fmt.Sprintf(`{"id":"u%d","name":"n","email":"same@example.com"}`, i))
			switch _, err := s.Client.Submit(t.Context(), cmd); {
			case err == nil:
				wins.Add(1)
			case fault.Is(err, fault.Conflict):
				conflicts.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 || conflicts.Load() != 31 {
		t.Errorf("%d won and %d met a conflict; want 1 and 31", wins.Load(), conflicts.Load())
	}
}

// Concurrent updates of one record are all carried out, none overwrites another.
func TestUpdatesOfOneRecordAreNotLost(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	submit(t, s, createUser("carol"))
	fields := []string{`"name":"N"`, `"adminNotes":"A"`, `"avatar":"https://example.com/a.png"`, `"email":"new@example.com"`}
	var wg sync.WaitGroup
	for _, f := range fields {
		wg.Go(func() {
			submit(t, s, resource.Command{Type: "User", Verb: resource.Update, Who: admin, Input: json.RawMessage(`{"id":"carol",` + f + `}`)})
		})
	}
	wg.Wait()
	last := submit(t, s, resource.Command{Type: "User", Verb: resource.Update, Who: admin, Input: json.RawMessage(`{"id":"carol"}`)})
	for _, f := range fields {
		if !json.Valid(last.Raw) || !contains(last.Raw, f) {
			t.Errorf("%s lacks %s", last.Raw, f)
		}
	}
}

// Everybody writes one record, through two workers, and nobody is refused.
func TestAHotRecordRefusesNobody(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := resourcetest.On(t, b, socialDir, resource.FeedOptions{})
	resourcetest.On(t, b, socialDir, resource.FeedOptions{})
	submit(t, s, createUser("carol"))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			submit(t, s, resource.Command{Type: "User", Verb: resource.Update, Who: admin, Input: json.RawMessage(fmt.Sprintf(`{"id":"carol","name":"n%d"}`, i))})
		})
	}
	wg.Wait()
}

func TestALongIDHarmsNobody(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	for _, verb := range []resource.Verb{resource.Update, resource.Delete} {
		_, err := s.Client.Submit(t.Context(), resource.Command{Type: "User", Verb: verb, Who: admin, Input: json.RawMessage(`{"id":"` + strings.Repeat("a", 5000) + `"}`)})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if err := s.Bus.Ready(); err != nil {
		t.Error(err)
	}
	submit(t, s, createUser("carol"))
}

// What the log should never carry is named in the log, and left out.
func TestAMessageThatIsNoRecordStopsNothing(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	for i, bad := range []string{`{"id":"x0","name":`, `[]`, ``, `{"id":"other"}`} {
		_, err := s.Bus.Append(t.Context(), bus.Entry{Subject: s.Bus.Subjects().Record("User", fmt.Sprintf("x%d", i)), Header: bus.Header{"Tidings-Kind": {"CREATED"}}, Data: []byte(bad)})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := submit(t, s, createUser("carol"))
	if err := s.Client.WaitFor(t.Context(), r.Seq); err != nil {
		t.Error(err)
	}
}

func contains(raw []byte, part string) bool {
	var whole, want map[string]any
	_ = json.Unmarshal(raw, &whole)
	_ = json.Unmarshal([]byte("{"+part+"}"), &want)
	for k, v := range want {
		if whole[k] != v {
			return false
		}
	}
	return true
}

// collector is a watcher that keeps what it is offered.
type collector struct {
	mu  sync.Mutex
	got []uint64
}

func (c *collector) Offer(e resource.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, e.Seq)
}

// all returns what was offered so far; a late Offer is not part of it.
func (c *collector) all() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func (c *collector) take(events []resource.Event) {
	for _, e := range events {
		c.got = append(c.got, e.Seq)
	}
}

// A watcher that comes and goes while others write sees every event once, in
// order: from the log, from the ring, and live.
func TestAWatcherThatComesBackMissesNothing(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.New(t), socialDir, resource.FeedOptions{Ring: 16})
	const writers, each = 4, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				submit(t, s, resource.Command{Type: "Post", Verb: resource.Create, Who: alice, Input: json.RawMessage(fmt.Sprintf(`{"title":"%d-%d"}`, w, i))})
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()

	var got []uint64
	var at uint64
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		c := &collector{}
		at = rejoin(t, s, c, at)
		s.Feed.Leave(c)
		got = append(got, c.all()...)
		if n := len(got); n > 0 {
			at = max(at, got[n-1])
		}
	}
	_, last, err := s.Bus.State(t.Context())
	if err == nil {
		err = s.Client.WaitFor(t.Context(), last)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{}
	rejoin(t, s, c, at)
	got = append(got, c.all()...)
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) || len(got) != writers*each {
		t.Errorf("got %d events, want %d, sorted and each once", len(got), writers*each)
	}
}

// rejoin brings a watcher from a position to the present.
func rejoin(t *testing.T, s *resourcetest.Service, c *collector, at uint64) uint64 {
	t.Helper()
	for {
		// The lock holds back live events until the missed ones are in.
		c.mu.Lock()
		missed, err := s.Feed.Join(at, c)
		if err == nil {
			c.take(missed)
			c.mu.Unlock()
			return at
		}
		c.mu.Unlock()
		if !errors.Is(err, resource.ErrBehind) {
			t.Fatal(err)
		}
		if at, err = s.Feed.Replay(t.Context(), "Post", "", at, func(e resource.Event) error { c.take([]resource.Event{e}); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// History is kept for so many changes of each record. Who comes back for one
// that is gone is told so, and never gets a sequence with a hole.
func TestTrimmedHistoryExpiresTheCursor(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	before := submit(t, s, createUser("carol")).Seq
	for i := range 80 {
		submit(t, s, resource.Command{Type: "User", Verb: resource.Update, Who: admin, Input: json.RawMessage(fmt.Sprintf(`{"id":"carol","name":"n%d"}`, i))})
	}
	if err := s.Client.WaitFor(t.Context(), before+80); err != nil {
		t.Fatal(err)
	}
	ignore := func(resource.Event) error { return nil }
	if _, err := s.Feed.Replay(t.Context(), "User", "carol", before, ignore); !fault.Is(err, fault.CursorExpired) {
		t.Errorf("a cursor before trimmed history: %v", err)
	}
	n := 0
	if _, err := s.Feed.Replay(t.Context(), "User", "carol", before+30, func(resource.Event) error { n++; return nil }); err != nil || n != 50 {
		t.Errorf("a cursor inside the history: %d events, %v", n, err)
	}
	if _, err := s.Feed.Replay(t.Context(), "User", "", before+1000, ignore); !fault.Is(err, fault.CursorExpired) {
		t.Errorf("a cursor beyond the end: %v", err)
	}
}

func TestWithoutAWorkerACommandIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := resourcetest.Reader(t, bustest.New(t), socialDir, resource.FeedOptions{})
	if _, err := s.Client.Submit(t.Context(), createUser("carol")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("got %v", err)
	}
}

func TestWaitForEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	if err := s.Client.WaitFor(ctx, 1<<40); !fault.Is(err, fault.Timeout) {
		t.Errorf("got %v", err)
	}
}

func TestCursorsReadWhatTheyWrite(t *testing.T) {
	t.Parallel()
	p := resource.Position{Log: "abc123", Seq: 98765}
	if q, err := resource.ParsePosition(p.String()); err != nil || q != p {
		t.Errorf("%v, %v", q, err)
	}
	for _, bad := range []string{"", "-", "abc", "abc-", "-1", "abc-00", "abc-1!", "abc-ZZ", "a-b-1"} {
		if _, err := resource.ParsePosition(bad); !fault.Is(err, fault.BadUserInput) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("abc123-2c")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := resource.ParsePosition(s); err == nil && p.String() != s {
			t.Errorf("%q reads as %v", s, p)
		}
	})
}

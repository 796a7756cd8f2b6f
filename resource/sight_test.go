package resource_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/view"
	"tidings/view/viewtest"
)

var taskDir = fstest.MapFS{"s.graphql": {Data: []byte(`
type Task @resource
  @auth(requires: [OWNER, ADMIN], on: [READ, UPDATE, DELETE])
  @auth(requires: [ADMIN], on: [CREATE]) {
  id: ID!
  ownerId: ID @owner
  state: String! @index
}
type Open @resource @auth(requires: [ANYONE]) { id: ID! state: String! @index }
`)}}

func TestWhatSomebodySeesOfAChange(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(taskDir)
	if err != nil {
		t.Fatal(err)
	}
	task := m.Resource("Task")
	ada := auth.Principal{Subject: "ada", Roles: schema.User}
	open := &view.Filter{Field: task.Field("state"), Op: "eq", Value: "open"}
	raw := func(owner, state string) []byte {
		if state == "" {
			return nil
		}
		return fmt.Appendf(nil, `{"id":"t","ownerId":%q,"state":%q}`, owner, state)
	}
	stub := func(owner string) []byte { return fmt.Appendf(nil, `{"id":"t","ownerId":%q}`, owner) }
	const none = resource.Kind("")
	for _, c := range []struct {
		kind           resource.Kind
		before, after  []byte
		own, mine, any resource.Kind // as ada sees it, ada with the filter, an administrator with the filter
	}{
		{resource.Created, nil, raw("ada", "open"), resource.Created, resource.Created, resource.Created},
		{resource.Created, nil, raw("ada", "done"), resource.Created, none, none},
		{resource.Created, nil, raw("ben", "open"), none, none, resource.Created},
		{resource.Updated, raw("ada", "open"), raw("ada", "open"), resource.Updated, resource.Updated, resource.Updated},
		{resource.Updated, raw("ada", "open"), raw("ada", "done"), resource.Updated, resource.Left, resource.Left},
		{resource.Updated, raw("ada", "done"), raw("ada", "open"), resource.Updated, resource.Entered, resource.Entered},
		{resource.Updated, raw("ada", "done"), raw("ada", "done"), resource.Updated, none, none},
		{resource.Updated, raw("ben", "open"), raw("ada", "open"), resource.Entered, resource.Entered, resource.Updated},
		{resource.Updated, raw("ada", "open"), raw("ben", "open"), resource.Left, resource.Left, resource.Updated},
		{resource.Updated, raw("ada", "done"), raw("ben", "open"), resource.Left, none, resource.Entered},
		{resource.Updated, raw("ben", "open"), raw("ben", "done"), none, none, resource.Left},
		{resource.Updated, raw("ben", "open"), raw("ada", "done"), resource.Entered, none, resource.Left},
		{resource.Deleted, raw("ada", "open"), stub("ada"), resource.Deleted, resource.Deleted, resource.Deleted},
		{resource.Deleted, raw("ada", "done"), stub("ada"), resource.Deleted, none, none},
		{resource.Deleted, raw("ben", "open"), stub("ben"), none, none, resource.Deleted},
	} {
		e := resource.Event{Kind: c.kind, Type: "Task", ID: "t", Before: c.before, Raw: c.after}
		for i, want := range []resource.Kind{c.own, c.mine, c.any} {
			who, filter := []auth.Principal{ada, ada, admin}[i], []*view.Filter{nil, open, open}[i]
			s, err := resource.NewSight(task, who, filter)
			if err != nil {
				t.Fatal(err)
			}
			got, seen := s.See(e)
			if seen != (want != none) || seen && got.Kind != want {
				t.Errorf("%s %s -> %s as %s, %v: got %s %t, want %q", c.kind, c.before, c.after, who.Subject, filter != nil, got.Kind, seen, want)
			}
			if seen && got.Raw != nil && resource.Owner(task, got.Raw) != who.Subject && who.Subject == "ada" {
				t.Errorf("%s -> %s: ada is shown %s", c.before, c.after, got.Raw)
			}
			if seen && got.Kind == resource.Left && resource.Owner(task, c.after) == "ada" && got.Raw == nil {
				t.Errorf("%s -> %s: ada may read it and is not shown it", c.before, c.after)
			}
		}
	}
}

// What is told live and what is replayed from the log must be the same, kinds
// included, of whatever filter; a replay that cannot know says so.
func TestAReplaySeesWhatWasSeenLive(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{History: 1000}), taskDir, resource.FeedOptions{})
	start := s.Feed.Now().Seq
	task := s.Model.Resource("Task")
	live, err := s.Feed.Recent(start, churn(t, s, 60))
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []auth.Principal{{Subject: "ada", Roles: schema.User}, admin} {
		for _, state := range []string{"", "a", "b"} {
			var filter *view.Filter
			if state != "" {
				filter = &view.Filter{Field: task.Field("state"), Op: "eq", Value: state}
			}
			sight, err := resource.NewSight(task, who, filter)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, e := range live {
				want = append(want, saw(sight, e)...)
			}
			for _, size := range []int{7, 1000} {
				var got []string
				p := s.Feed.Past("Task", "", start, sight)
				for more := true; more; {
					left := size
					_, err := p.Read(t.Context(), func(e resource.Event) error {
						if left--; left < 0 {
							return errEnough
						}
						got = append(got, saw(sight, e)...)
						return nil
					})
					if more = left < 0; err != nil && !more {
						t.Fatal(err)
					}
				}
				if !slices.Equal(got, want) || len(got) == 0 {
					t.Errorf("%s, state %q, %d at a time: replayed %d, live %d\n%q\n%q", who.Subject, state, size, len(got), len(want), got, want)
				}
			}
		}
	}
}

func saw(s *resource.Sight, e resource.Event) []string {
	e, seen := s.See(e)
	if !seen {
		return nil
	}
	return []string{fmt.Sprintf("%d %s %s", e.Seq, e.Kind, e.Raw)}
}

// churn makes tasks change their owners and states; it returns the last sequence.
func churn(t *testing.T, s *resourcetest.Service, rounds int) (last uint64) {
	t.Helper()
	var ids []string
	do := func(verb resource.Verb, input string, a ...any) resource.Record {
		r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Task", Verb: verb, Who: admin, Input: fmt.Appendf(nil, input, a...)})
		if err != nil {
			t.Fatal(err)
		}
		last = r.Seq
		return r
	}
	for i := range rounds {
		owner, state := []string{"ada", "ben"}[i*7%3%2], []string{"a", "b", "c"}[i*5%7%3]
		switch {
		case i < 8 || i%9 == 0:
			var task struct{ ID string }
			if err := json.Unmarshal(do(resource.Create, `{"ownerId":%q,"state":%q}`, owner, state).Raw, &task); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, task.ID)
		case i%13 == 0:
			do(resource.Delete, `{"id":%q}`, ids[0])
			ids = ids[1:]
		default:
			do(resource.Update, `{"id":%q,"ownerId":%q,"state":%q}`, ids[i%len(ids)], owner, state)
		}
	}
	if err := s.Client.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	return last
}

func TestAReplaySaysWhenItCannotKnowWhatARecordWas(t *testing.T) {
	t.Parallel()
	const history = 4
	s := resourcetest.On(t, bustest.Open(t, bus.Options{History: history}), taskDir, resource.FeedOptions{})
	submit := func(verb resource.Verb, input string, a ...any) resource.Record {
		r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Open", Verb: verb, Who: admin, Input: fmt.Appendf(nil, input, a...)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := submit(resource.Create, `{"state":"a"}`)
	var made struct{ ID string }
	if err := json.Unmarshal(first.Raw, &made); err != nil {
		t.Fatal(err)
	}
	var last resource.Record
	for i := range history {
		last = submit(resource.Update, `{"id":%q,"state":"%d"}`, made.ID, i)
	}
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	typ := s.Model.Resource("Open")
	read := func(after uint64, filter *view.Filter) (n int, err error) {
		sight, err := resource.NewSight(typ, admin, filter)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Feed.Past("Open", "", after, sight).Read(t.Context(), func(resource.Event) error { n++; return nil })
		return n, err
	}
	filter := &view.Filter{Field: typ.Field("state"), Op: "ne", Value: "x"}
	if n, err := read(first.Seq, nil); err != nil || n != history {
		t.Errorf("without a filter: %d, %v", n, err)
	}
	if n, err := read(first.Seq, filter); !fault.Is(err, fault.CursorExpired) || n != 0 {
		t.Errorf("with a filter: %d, %v", n, err)
	}
	if n, err := read(first.Seq+1, filter); err != nil || n != history-1 {
		t.Errorf("with a filter, later: %d, %v", n, err)
	}
}

// A process that begins to read when changes are trimmed already must not take
// what it has read for all there was.
func TestARingDoesNotHideWhatWasTrimmedBeforeItWasRead(t *testing.T) {
	t.Parallel()
	const history = 4
	b := bustest.Open(t, bus.Options{History: history})
	s := resourcetest.On(t, b, taskDir, resource.FeedOptions{})
	start := s.Feed.Now().Seq
	churned := churn(t, s, 8)
	page, err := s.View.List(t.Context(), view.Query{Type: "Task"})
	if err != nil {
		t.Fatal(err)
	}
	var task struct{ ID string }
	if err := json.Unmarshal(page.Records[0], &task); err != nil {
		t.Fatal(err)
	}
	var last resource.Record
	for i := range 2 * history {
		last, err = s.Client.Submit(t.Context(), resource.Command{Type: "Task", Verb: resource.Update, Who: admin, Input: fmt.Appendf(nil, `{"id":%q,"state":"%d"}`, task.ID, i)})
		if err != nil {
			t.Fatal(err)
		}
	}
	late := resourcetest.Reader(t, b, taskDir, resource.FeedOptions{})
	if err := late.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	for _, after := range []uint64{start, churned} {
		if events, err := late.Feed.Recent(after, last.Seq); err != resource.ErrBehind {
			t.Errorf("after %d: %d events, %v", after, len(events), err)
		}
	}
	if viewtest.Enabled() {
		return // it began where the view stands that it shares, and has read nothing
	}
	if events, err := late.Feed.Recent(last.Seq-2, last.Seq); err != nil || len(events) != 2 || events[0].Before == nil {
		t.Errorf("what is known: %+v, %v", events, err)
	}
}

package resource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// Teams have members, members badges and notes; a part is of another part.
var club = fstest.MapFS{"s.graphql": {Data: []byte(`
type Team @resource @auth(requires: ANYONE) {
  id: ID!
  name: String!
}
type Member @resource @auth(requires: ANYONE) {
  id: ID!
  name: String @unique
  teamId: ID!
  team: Team @belongsTo(field: "teamId", onDelete: CASCADE)
  version: Int! @version
}
type Badge @resource @auth(requires: ANYONE) {
  id: ID!
  memberId: ID
  member: Member @belongsTo(field: "memberId", onDelete: RESTRICT)
}
type Note @resource @auth(requires: ADMIN) {
  id: ID!
  text: String
  memberId: ID
  member: Member @belongsTo(field: "memberId", onDelete: SET_NULL)
  aboutId: ID
  about: Member @belongsTo(field: "aboutId", onDelete: SET_NULL)
  teamId: ID
  team: Team @belongsTo(field: "teamId", onDelete: KEEP)
  version: Int! @version
  changedAt: DateTime! @timestamp(on: UPDATE)
}
type Tag @resource @auth(requires: ANYONE) {
  id: ID!
  name: String! @unique
}
type Part @resource @auth(requires: ANYONE) {
  id: ID!
  ofId: ID
  of: Part @belongsTo(field: "ofId", onDelete: CASCADE)
}
type Profile @resource @auth(requires: ANYONE) {
  id: ID! @owner
  friendId: ID
  friend: Profile @belongsTo(field: "friendId", onDelete: SET_NULL)
  version: Int! @version
}`)}}

// made creates a record and returns its id.
func made(t testing.TB, s *resourcetest.Service, typ, format string, args ...any) string {
	t.Helper()
	return idOf(t, submit(t, s, resource.Command{Type: typ, Verb: resource.Create, Who: admin, Input: json.RawMessage(fmt.Sprintf(format, args...))}))
}

func try(t testing.TB, s *resourcetest.Service, typ string, verb resource.Verb, format string, args ...any) error {
	t.Helper()
	_, err := s.Client.Submit(t.Context(), resource.Command{Type: typ, Verb: verb, Who: admin, Input: json.RawMessage(fmt.Sprintf(format, args...))})
	return err
}

// now is the record as the log has it; nil when there is none.
func now(t testing.TB, b *bus.Bus, typ, id string) map[string]any {
	t.Helper()
	m, err := b.Last(t.Context(), b.Subjects().Record(typ, id))
	if err != nil {
		t.Fatal(err)
	}
	if m == nil || m.Header.Get("Tidings-Kind") == "DELETED" {
		return nil
	}
	var record map[string]any
	if err := json.Unmarshal(m.Data, &record); err != nil {
		t.Fatal(err)
	}
	return record
}

func TestAReferenceLeadsToARecordThatIsThere(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	team, other := made(t, s, "Team", `{"name":"t"}`), made(t, s, "Team", `{"name":"o"}`)
	member := made(t, s, "Member", `{"teamId":%q}`, team)
	for name, err := range map[string]error{
		"a create":       try(t, s, "Member", resource.Create, `{"teamId":"nobody"}`),
		"an update":      try(t, s, "Member", resource.Update, `{"id":%q,"teamId":"nobody"}`, member),
		"another's id":   try(t, s, "Member", resource.Create, `{"teamId":%q}`, member),
		"a kept one":     try(t, s, "Note", resource.Create, `{"teamId":"nobody"}`),
		"a very long id": try(t, s, "Note", resource.Create, `{"teamId":%q}`, strings.Repeat("x", 2000)),
	} {
		f := fault.Of(err)
		if f == nil || f.Code != fault.BadUserInput || f.Field != "input.teamId" || !strings.Contains(f.Message, "there is none with the id") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"none":        try(t, s, "Note", resource.Create, `{"teamId":null,"text":"t"}`),
		"another one": try(t, s, "Member", resource.Update, `{"id":%q,"teamId":%q}`, member, other),
		"it is kept":  try(t, s, "Member", resource.Update, `{"id":%q,"name":"n"}`, member),
		"to itself":   try(t, s, "Profile", resource.Create, `{"id":"me","friendId":"me"}`),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	note := made(t, s, "Note", `{"teamId":%q}`, team)
	if err := try(t, s, "Team", resource.Delete, `{"id":%q}`, team); err != nil {
		t.Error(err)
	}
	if now(t, s.Bus, "Note", note)["teamId"] != team || now(t, s.Bus, "Member", member) == nil {
		t.Error("a note that keeps its team, or a member of another one, has changed")
	}
	if err := try(t, s, "Note", resource.Update, `{"id":%q,"teamId":%q,"text":"x"}`, note, team); err != nil {
		t.Errorf("what was there before is refused: %v", err)
	}
	if err := try(t, s, "Member", resource.Create, `{"teamId":%q}`, team); !fault.Is(err, fault.BadUserInput) {
		t.Errorf("a deleted team: %v", err)
	}
}

func TestADeletionGoesOnAsTheRulesSay(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	team := made(t, s, "Team", `{"name":"t"}`)
	one, two := made(t, s, "Member", `{"teamId":%q,"name":"one"}`, team), made(t, s, "Member", `{"teamId":%q}`, team)
	note := made(t, s, "Note", `{"memberId":%q,"aboutId":%q,"text":"t"}`, one, two)
	badge := made(t, s, "Badge", `{"memberId":%q}`, two)
	before := end(t, s.Bus)
	err := try(t, s, "Team", resource.Delete, `{"id":%q}`, team)
	if !fault.Is(err, fault.Conflict) || fault.Of(err).Message != "the Team cannot be deleted: a Member would go with it, and records refer to that: 1 by Badge.memberId" {
		t.Errorf("with a badge: %v", err)
	}
	err = try(t, s, "Member", resource.Delete, `{"id":%q}`, two)
	if !fault.Is(err, fault.Conflict) || fault.Of(err).Message != "the Member cannot be deleted while records refer to it: 1 by Badge.memberId" || end(t, s.Bus) != before {
		t.Errorf("with a badge: %v", err)
	}
	if err := try(t, s, "Badge", resource.Update, `{"id":%q,"memberId":null}`, badge); err != nil {
		t.Fatal(err)
	}
	gone := submit(t, s, resource.Command{Type: "Team", Verb: resource.Delete, Who: alice, ID: "the-command", Input: fmt.Appendf(nil, `{"id":%q}`, team)})
	if !strings.Contains(string(gone.Raw), `"name":"t"`) {
		t.Errorf("answered %s", gone.Raw)
	}
	if now(t, s.Bus, "Team", team) != nil || now(t, s.Bus, "Member", one) != nil || now(t, s.Bus, "Member", two) != nil {
		t.Error("something is left")
	}
	left := now(t, s.Bus, "Note", note)
	if left["memberId"] != nil || left["aboutId"] != nil || left["text"] != "t" || left["version"] != 2.0 {
		t.Errorf("the note is %v", left)
	}
	for _, subject := range []string{s.Bus.Subjects().Record("Member", one), s.Bus.Subjects().Record("Note", note), s.Bus.Subjects().Record("Team", team)} {
		m, err := s.Bus.Last(t.Context(), subject)
		if err != nil || m.Header.Get("Tidings-Actor") != "alice" || m.Header.Get("Tidings-Command") != "the-command" || m.Seq > gone.Seq {
			t.Errorf("%s: %+v, answered %d", subject, m, gone.Seq)
		}
	}
	made(t, s, "Member", `{"teamId":%q,"name":"one"}`, made(t, s, "Team", `{"name":"u"}`)) // the unique name is free
}

func TestADeletionGoesRoundInACircleOnce(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	first := made(t, s, "Part", `{}`)
	last, ids := first, []string{first}
	for range 10 {
		last = made(t, s, "Part", `{"ofId":%q}`, last)
		ids = append(ids, last)
	}
	if err := try(t, s, "Part", resource.Update, `{"id":%q,"ofId":%q}`, first, last); err != nil {
		t.Fatal(err)
	}
	if err := try(t, s, "Part", resource.Delete, `{"id":%q}`, ids[4]); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if now(t, s.Bus, "Part", id) != nil {
			t.Errorf("%s is left", id)
		}
	}
	alone := made(t, s, "Part", `{}`)
	if err := try(t, s, "Part", resource.Update, `{"id":%q,"ofId":%q}`, alone, alone); err != nil {
		t.Fatal(err)
	}
	if err := try(t, s, "Part", resource.Delete, `{"id":%q}`, alone); err != nil || now(t, s.Bus, "Part", alone) != nil {
		t.Errorf("what refers to itself: %v", err)
	}
}

func TestADeletionThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	root := made(t, s, "Part", `{}`)
	for range 2 {
		var parts []resource.Change
		for range 600 {
			parts = append(parts, change("Part", resource.Create, `{"ofId":%q}`, root))
		}
		transact(t, s.Client, admin, parts...)
	}
	before := end(t, s.Bus)
	err := try(t, s, "Part", resource.Delete, `{"id":%q}`, root)
	if !fault.Is(err, fault.BadUserInput) || !strings.Contains(err.Error(), "more than 1000 messages of the log: 1200 records refer to it by Part.ofId") || end(t, s.Bus) != before {
		t.Errorf("%v", err)
	}
}

func TestATransactionCountsWhatItCreatesAndDeletes(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	set := func() (team, member, badge, note string) {
		team = made(t, s, "Team", `{"name":"t"}`)
		member = made(t, s, "Member", `{"teamId":%q}`, team)
		return team, member, made(t, s, "Badge", `{"memberId":%q}`, member), made(t, s, "Note", `{"memberId":%q}`, member)
	}
	for name, c := range map[string]struct {
		changes func(team, member, badge, note string) []resource.Change
		index   int // to blame; -1: it is carried out
		code    fault.Code
	}{
		"the badge goes, too": {func(_, member, badge, _ string) []resource.Change {
			return []resource.Change{change("Member", resource.Delete, `{"id":%q}`, member), change("Badge", resource.Delete, `{"id":%q}`, badge)}
		}, -1, ""},
		"the badge is given away": {func(team, _, badge, _ string) []resource.Change {
			return []resource.Change{change("Badge", resource.Update, `{"id":%q,"memberId":null}`, badge), change("Team", resource.Delete, `{"id":%q}`, team)}
		}, -1, ""},
		"a new badge": {func(_, member, badge, _ string) []resource.Change {
			return []resource.Change{change("Badge", resource.Delete, `{"id":%q}`, badge), change("Member", resource.Delete, `{"id":%q}`, member), change("Badge", resource.Create, `{"memberId":%q}`, member)}
		}, 2, fault.BadUserInput},
		"the badge stays": {func(team, _, _, note string) []resource.Change {
			return []resource.Change{change("Note", resource.Delete, `{"id":%q}`, note), change("Team", resource.Delete, `{"id":%q}`, team)}
		}, 1, fault.Conflict},
		"the member is changed, and would go": {func(team, member, badge, _ string) []resource.Change {
			return []resource.Change{change("Team", resource.Delete, `{"id":%q}`, team), change("Badge", resource.Delete, `{"id":%q}`, badge), change("Member", resource.Update, `{"id":%q,"name":"n"}`, member)}
		}, 2, fault.Conflict},
		"the note is changed, and loses its member": {func(team, _, badge, note string) []resource.Change {
			return []resource.Change{change("Note", resource.Update, `{"id":%q,"text":"new"}`, note), change("Badge", resource.Delete, `{"id":%q}`, badge), change("Team", resource.Delete, `{"id":%q}`, team)}
		}, -1, ""},
		"two who may have no friend": {func(_, _, _, _ string) []resource.Change {
			return []resource.Change{change("Profile", resource.Create, `{"id":"b","friendId":"a"}`), change("Profile", resource.Create, `{"id":"a","friendId":"b"}`)}
		}, -1, ""},
	} {
		team, member, badge, note := set()
		before := end(t, s.Bus)
		records, err := s.Client.Transact(t.Context(), resource.Transaction{Who: admin, Changes: c.changes(team, member, badge, note)})
		if c.index < 0 && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, r := range records { // the sequences are those of the records
			m, err := s.Bus.At(t.Context(), r.Seq)
			if id := idOf(t, r); err != nil || !strings.HasSuffix(m.Subject, "."+id) {
				t.Errorf("%s: %d is %s at %d: %+v, %v", name, i, id, r.Seq, m, err)
			}
		}
		if c.index >= 0 && (!failsOnAccountOf(err, c.index) || !fault.Is(err, c.code) || end(t, s.Bus) != before) {
			t.Errorf("%s: %v", name, err)
		}
		if left := now(t, s.Bus, "Note", note); strings.HasPrefix(name, "the note") && (left["memberId"] != nil || left["text"] != "new" || left["version"] != 2.0) {
			t.Errorf("%s: %v", name, left)
		}
		assertNothingDangles(t, s.Bus, s)
	}
}

// Members come and go, move and get badges and notes, while teams and members
// are deleted, by way of two workers.
func TestNothingDanglesWhoeverWritesMeanwhile(t *testing.T) {
	t.Parallel()
	b := bustest.Dir(t, t.TempDir())
	services := []*resourcetest.Service{resourcetest.On(t, b, club, resource.FeedOptions{}), resourcetest.On(t, b, club, resource.FeedOptions{})}
	const writers, each, teams = 12, 60, 4
	var mu sync.Mutex
	known := map[string][]string{}
	add := func(typ, id string) {
		mu.Lock()
		defer mu.Unlock()
		known[typ] = append(known[typ], id)
	}
	some := func(typ string) string {
		mu.Lock()
		defer mu.Unlock()
		if list := known[typ]; len(list) > 0 {
			return list[max(0, len(list)-1-rand.IntN(6))] // those that are deleted are asked for, too
		}
		return "nobody"
	}
	for range teams {
		add("Team", made(t, services[0], "Team", `{"name":"t"}`))
	}
	ctx := unhurried(t)
	var done, refused atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := services[w%2]
			for range each {
				typ, verb, input := chance(some)
				r, err := s.Client.Submit(ctx, resource.Command{Type: typ, Verb: verb, Who: admin, Input: json.RawMessage(input)})
				switch {
				case err == nil:
					done.Add(1)
					if verb == resource.Create {
						add(typ, idOf(t, r))
					}
				case fault.Is(err, fault.BadUserInput), fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound):
					refused.Add(1)
				default:
					t.Errorf("%s %s %s: %v", verb, typ, input, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d carried out, %d refused", done.Load(), refused.Load())
	if done.Load() < writers*each/4 || refused.Load() == 0 {
		t.Errorf("%d carried out, %d refused", done.Load(), refused.Load())
	}
	assertNothingDangles(t, b, services[0])
}

// unhurried gives callers time on a machine that is busy: of a log that does not
// answer for seconds nobody can tell whether it has stored something.
func unhurried(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// chance is a change by chance.
func chance(some func(string) string) (typ string, verb resource.Verb, input string) {
	switch rand.IntN(10) {
	case 0:
		return "Team", resource.Create, `{"name":"t"}`
	case 1:
		return "Team", resource.Delete, fmt.Sprintf(`{"id":%q}`, some("Team"))
	case 2, 3, 4:
		return "Member", resource.Create, fmt.Sprintf(`{"teamId":%q}`, some("Team"))
	case 5:
		return "Member", resource.Update, fmt.Sprintf(`{"id":%q,"teamId":%q}`, some("Member"), some("Team"))
	case 6:
		return "Member", resource.Delete, fmt.Sprintf(`{"id":%q}`, some("Member"))
	case 7:
		return "Badge", resource.Create, fmt.Sprintf(`{"memberId":%q}`, some("Member"))
	case 8:
		return "Badge", resource.Delete, fmt.Sprintf(`{"id":%q}`, some("Badge"))
	}
	return "Note", resource.Create, fmt.Sprintf(`{"memberId":%q,"aboutId":%q}`, some("Member"), some("Member"))
}

func failsOnAccountOf(err error, index int) bool {
	item, ok := err.(*resource.ItemError)
	return ok && item.Index == index
}

// assertNothingDangles looks at every reference with a rule, but those that are
// kept.
func assertNothingDangles(t testing.TB, b *bus.Bus, s *resourcetest.Service) {
	t.Helper()
	records := map[string]map[string]any{}
	err := b.Latest(t.Context(), b.Subjects().EveryRecord(), end(t, b), func(m bus.Message) error {
		typ, id, ok := b.Subjects().ParseRecord(m.Subject)
		var record map[string]any
		if !ok || m.Header.Get("Tidings-Kind") == "DELETED" {
			return nil
		}
		records[typ+" "+id] = record
		if err := json.Unmarshal(m.Data, &record); err != nil {
			return err
		}
		records[typ+" "+id] = record
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, record := range records {
		typ, _, _ := strings.Cut(name, " ")
		for _, ref := range s.Model.Resource(typ).References {
			if id, _ := record[ref.Key.Name].(string); id != "" && ref.OnDelete.String() != "KEEP" && records[ref.To.Name+" "+id] == nil {
				t.Errorf("%s refers by %s to %s, which is not there", name, ref, id)
			}
		}
	}
}

func TestAChangeMayReferToWhatAnEarlierOneCreates(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	team := change("Team", resource.Create, `{"name":"t"}`)
	member := func(refs map[string]int) resource.Change {
		c := change("Member", resource.Create, `{"name":null}`)
		c.Refs = refs
		return c
	}
	records := transact(t, s.Client, alice, team, member(map[string]int{"teamId": 0}))
	if id := idOf(t, records[0]); now(t, s.Bus, "Member", idOf(t, records[1]))["teamId"] != id {
		t.Errorf("%s does not refer to %s", records[1].Raw, id)
	}
	badge := change("Badge", resource.Create, `{}`)
	badge.Refs = map[string]int{"memberId": 0}
	for name, changes := range map[string][]resource.Change{
		"itself":       {team, member(map[string]int{"teamId": 1})},
		"a later one":  {team, member(map[string]int{"teamId": 2}), team},
		"before all":   {team, member(map[string]int{"teamId": -1})},
		"another type": {team, badge},
		"no key":       {team, member(map[string]int{"name": 0})},
		"no creation":  {change("Team", resource.Update, `{"id":%q}`, idOf(t, records[0])), member(map[string]int{"teamId": 0})},
	} {
		_, err := s.Client.Transact(t.Context(), resource.Transaction{Who: alice, Changes: changes})
		if !failsOnAccountOf(err, 1) || !fault.Is(err, fault.BadUserInput) || !strings.Contains(err.Error(), "cannot refer to the change at place") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

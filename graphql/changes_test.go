package graphql_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

const noteSchema = `
type Note @resource
  @auth(requires: [OWNER, ADMIN], on: [READ, UPDATE, DELETE])
  @auth(requires: [USER], on: [CREATE]) {
  id: ID!
  ownerId: ID! @owner
  text: String!
  secret: String @auth(requires: [ADMIN])
  replies(limit: Int = 20): [Note!]! @hasMany(field: "parentId")
  parentId: ID @index
}
type Secret @resource @auth(requires: [ADMIN], on: [READ, CREATE]) { id: ID! text: String }
`

// noted is a service for notes that only their owners may read.
func noted(t testing.TB, b *bus.Bus, ring int) *service {
	t.Helper()
	s := &service{Service: resourcetest.On(t, b, fstest.MapFS{"s.graphql": {Data: []byte(noteSchema)}}, resource.FeedOptions{Ring: ring})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	return s
}

func (s *service) do(t testing.TB, verb resource.Verb, input string, a ...any) resource.Record {
	t.Helper()
	r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Note", Verb: verb, Who: admin, Input: fmt.Appendf(nil, input, a...)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *service) note(t testing.TB, owner string) resource.Record {
	t.Helper()
	who := auth.Principal{Subject: owner, Roles: ada.Roles | admin.Roles}
	r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Note", Verb: resource.Create, Who: who,
		Input: fmt.Appendf(nil, `{"ownerId":%q,"text":"first"}`, owner)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// changePage is what a page of changes says.
type changePage struct {
	Nodes     []json.RawMessage
	EndCursor string
	HasMore   bool
}

const noteSelection = `{ kind id cursor at note { id ownerId text } }`

// poll asks for one page; an empty cursor is none.
func (s *service) poll(t testing.TB, who auth.Principal, after string, first int) changePage {
	t.Helper()
	vars := fmt.Sprintf(`{"after":%q,"first":%d}`, after, first)
	if after == "" {
		vars = fmt.Sprintf(`{"first":%d}`, first)
	}
	body := s.run(t, who, `query($after: String, $first: Int) { noteChanges(after: $after, first: $first) { nodes `+noteSelection+` endCursor hasMore } }`, vars)
	var r struct {
		Data   struct{ NoteChanges *changePage }
		Errors []any
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil || r.Data.NoteChanges == nil || len(r.Errors) > 0 {
		t.Fatalf("%v: %s", err, body)
	}
	return *r.Data.NoteChanges
}

func TestPollingBeginsAtThePresent(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.New(t), 0)
	first := s.note(t, "ada")
	s.awaitSeq(t, first.Seq)
	id := idOf(t, first.Raw)
	page := s.poll(t, ada, "", 10)
	if len(page.Nodes) != 0 || page.HasMore || page.EndCursor != s.Feed.Now().String() {
		t.Errorf("%+v", page)
	}
	again := s.poll(t, ada, page.EndCursor, 10)
	if len(again.Nodes) != 0 || again.HasMore || again.EndCursor != page.EndCursor {
		t.Errorf("%+v", again)
	}
	s.do(t, resource.Update, `{"id":%q,"text":"second","secret":"s"}`, id)
	last := s.do(t, resource.Delete, `{"id":%q}`, id)
	s.awaitSeq(t, last.Seq)
	body := s.run(t, ada, fmt.Sprintf(`{ noteChanges(after: %q) { __typename all: nodes { kind note { text replies { id } } } endCursor nodes { id note { secret } } hasMore } }`, page.EndCursor), "")
	wantData(t, body, fmt.Sprintf(`{"noteChanges":{"__typename":"NoteChangePage","endCursor":%q,"hasMore":false,
		"all":[{"kind":"UPDATED","note":{"text":"second","replies":[]}},{"kind":"DELETED","note":null}],
		"nodes":[{"id":%q,"note":{"secret":null}},{"id":%q,"note":null}]}}`, s.Feed.Now(), id, id), fault.Forbidden)
}

func TestPollingIsRefused(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.New(t), 0)
	here := s.Feed.Now()
	for _, c := range []struct {
		name, query string
		code        fault.Code
	}{
		{"a malformed cursor", `{ noteChanges(after: "yesterday") { endCursor } }`, fault.BadUserInput},
		{"an empty cursor", `{ noteChanges(after: "") { endCursor } }`, fault.BadUserInput},
		{"the cursor of another log", fmt.Sprintf(`{ noteChanges(after: %q) { endCursor } }`, resource.Position{Log: "other", Seq: here.Seq}), fault.CursorExpired},
		{"a cursor of the future", fmt.Sprintf(`{ noteChanges(after: %q) { endCursor } }`, resource.Position{Log: here.Log, Seq: here.Seq + 1000}), fault.CursorExpired},
		{"no changes", `{ noteChanges(first: 0) { endCursor } }`, fault.BadUserInput},
		{"too many changes", `{ noteChanges(first: 101) { endCursor } }`, fault.BadUserInput},
		{"who may read none", `{ secretChanges { endCursor } }`, fault.Forbidden},
	} {
		r := decode(t, s.run(t, ada, c.query, ""))
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != c.code || len(r.Errors[0].Path) != 1 {
			t.Errorf("%s: %+v, want %s", c.name, r.Errors, c.code)
		}
	}
	if r := decode(t, s.run(t, ada, `{ noteChanges(first: null) { endCursor } }`, "")); len(r.Errors) > 0 {
		t.Error(r.Errors)
	}
}

// events returns the changes in the results of a subscription to noteChanged.
func (b *inbox) events(t testing.TB) []string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, payload := range b.payloads {
		var r struct {
			Data struct{ NoteChanged json.RawMessage }
		}
		if err := json.Unmarshal(payload, &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, string(r.Data.NoteChanged))
	}
	return list
}

// Whoever polls gets what whoever subscribes gets: the same events in the same
// order, whatever of them comes from memory and whatever from the log.
func TestPollingAndSubscribingTellTheSame(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.Open(t, bus.Options{History: 10_000}), 16)
	start := s.Feed.Now().String()
	callers := []auth.Principal{ada, ben, admin}
	boxes := make([]*inbox, len(callers))
	for i, who := range callers {
		boxes[i] = newInbox()
		s.subscribe(t, who, `subscription { noteChanged `+noteSelection+` }`, "", boxes[i])
	}
	var writers, pollers sync.WaitGroup
	written, polled := make(chan struct{}), make([][]string, len(callers))
	for i := range 4 {
		writers.Go(func() { s.scribble(t, i, 40) })
	}
	for i, who := range callers {
		pollers.Go(func() { polled[i] = s.pollAll(t, who, start, 2+i*9, written) })
	}
	writers.Wait()
	end := s.note(t, "ada")
	s.awaitSeq(t, max(end.Seq, s.note(t, "ben").Seq))
	close(written)
	pollers.Wait()
	for i, who := range callers {
		late := s.pollAll(t, who, start, 100, written)
		boxes[i].awaitCount(t, len(late))
		if heard := boxes[i].events(t); !slices.Equal(heard, polled[i]) || !slices.Equal(heard, late) {
			t.Errorf("%s heard %d events, polled %d meanwhile and %d afterwards", who.Subject, len(heard), len(polled[i]), len(late))
		}
	}
	if len(polled[0]) >= len(polled[2]) || len(polled[0]) < 50 {
		t.Errorf("ada got %d events, the administrator %d", len(polled[0]), len(polled[2]))
	}
}

// scribble creates, changes and deletes notes.
func (s *service) scribble(t testing.TB, writer, n int) {
	rng := rand.New(rand.NewPCG(uint64(writer), 1))
	for range n {
		id := idOf(t, s.note(t, []string{"ada", "ben"}[rng.IntN(2)]).Raw)
		if rng.IntN(2) == 0 {
			s.do(t, resource.Update, `{"id":%q,"text":"changed"}`, id)
		}
		if rng.IntN(3) == 0 {
			s.do(t, resource.Delete, `{"id":%q}`, id)
		}
	}
}

// pollAll polls until all is written and nothing is left.
func (s *service) pollAll(t testing.TB, who auth.Principal, after string, first int, written <-chan struct{}) (events []string) {
	for over := false; ; {
		select {
		case <-written:
			over = true
		default:
		}
		page := s.poll(t, who, after, first)
		for _, node := range page.Nodes {
			events = append(events, string(node))
		}
		if len(page.Nodes) > first || page.HasMore && len(page.Nodes) < first {
			t.Errorf("a page of %d, more %v", len(page.Nodes), page.HasMore)
		}
		if over && !page.HasMore {
			return events
		}
		after = page.EndCursor
	}
}

// A change that the log no longer holds must not be passed over in silence,
// however far away the change is that tells of it.
func TestAPollerIsToldOfTrimmedChanges(t *testing.T) {
	t.Parallel()
	const history = 8
	s := noted(t, bustest.Open(t, bus.Options{History: history}), 4)
	start := s.Feed.Now().String()
	first := s.note(t, "ada")
	s.awaitSeq(t, s.notes(t, 300).Seq)
	if page := s.poll(t, ada, start, 3); len(page.Nodes) != 3 || !page.HasMore {
		t.Errorf("%+v", page)
	}
	kept := s.do(t, resource.Update, `{"id":%q,"text":"kept"}`, idOf(t, first.Raw))
	var last resource.Record
	for i := range history - 1 {
		last = s.do(t, resource.Update, `{"id":%q,"text":"%d"}`, idOf(t, first.Raw), i)
	}
	s.awaitSeq(t, last.Seq)
	query := `{ noteChanges(after: %q, first: 3) { endCursor } }`
	r := decode(t, s.run(t, ada, fmt.Sprintf(query, start), ""))
	if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != fault.CursorExpired {
		t.Errorf("before what is gone: %+v", r)
	}
	// Of the first change that is kept nobody knows any more who could see what it
	// changed.
	beyond := resource.Position{Log: s.Feed.Now().Log, Seq: kept.Seq}.String()
	if r := decode(t, s.run(t, ada, fmt.Sprintf(query, beyond), "")); len(r.Errors) != 0 {
		t.Errorf("after what is gone: %+v", r)
	}
}

func (s *service) notes(t testing.TB, n int) (last resource.Record) {
	t.Helper()
	for range n {
		last = s.note(t, "ada")
	}
	return last
}

// The same for a subscription that resumes, which reads the log in chunks.
func TestASubscriberIsToldOfTrimmedChangesOfAnEarlierChunk(t *testing.T) {
	t.Parallel()
	const history = 8
	s := noted(t, bustest.Open(t, bus.Options{History: history}), 4)
	start := s.Feed.Now().String()
	first := s.note(t, "ada")
	s.notes(t, 300)
	var last resource.Record
	for i := range history {
		last = s.do(t, resource.Update, `{"id":%q,"text":"%d"}`, idOf(t, first.Raw), i)
	}
	s.awaitSeq(t, last.Seq)
	b := newInbox()
	s.subscribe(t, ada, `subscription { noteChanged { id } }`, start, b)
	b.awaitEnd(t, fault.CursorExpired)
}

// Either way goes on where the other has stopped.
func TestASubscriptionGoesOnWhereAPollerStopped(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.New(t), 0)
	after := s.poll(t, ada, "", 1).EndCursor
	s.note(t, "ben") // which ada may not know of
	s.awaitSeq(t, s.notes(t, 3).Seq)
	page := s.poll(t, ada, after, 2)
	b := newInbox()
	s.subscribe(t, ada, `subscription { noteChanged `+noteSelection+` }`, page.EndCursor, b)
	b.awaitCount(t, 1)
	s.awaitSeq(t, s.note(t, "ada").Seq)
	b.awaitCount(t, 2)
	if again := s.poll(t, ada, b.cursor(0), 10); len(again.Nodes) != 1 || string(again.Nodes[0]) != b.events(t)[1] {
		t.Errorf("%+v after %v", again, b.events(t))
	}
	if len(page.Nodes) != 2 || !page.HasMore {
		t.Errorf("%+v", page)
	}
}

func TestAPageOfChangesCostsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.New(t), 0)
	limited, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Limits: graphql.Limits{Page: 50, Cost: graphql.Budgets{User: 60}}})
	if err != nil {
		t.Fatal(err)
	}
	for query, code := range map[string]fault.Code{
		`{ noteChanges(first: 20) { nodes { id note { text } } } }`: "",
		`{ noteChanges { nodes { id note { text } } } }`:            "",
		`{ noteChanges(first: 50) { nodes { id note { text } } } }`: fault.CostLimitExceeded,
		`{ noteChanges(first: 51) { endCursor } }`:                  fault.BadUserInput,
	} {
		r := decode(t, string(limited.Execute(t.Context(), ada, graphql.Request{Query: query}).Body))
		if len(r.Errors) > 0 != (code != "") || code != "" && r.Errors[0].Extensions.Code != code {
			t.Errorf("%s: %+v, want %q", query, r.Errors, code)
		}
	}
}

package graphql_test

import (
	"encoding/json"
	"fmt"
	"maps"
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

const taskSchema = `
type Task @resource
  @auth(requires: [OWNER, ADMIN], on: [READ, UPDATE, DELETE])
  @auth(requires: [USER, ADMIN], on: [CREATE]) {
  id: ID!
  ownerId: ID @owner
  state: String! @index
  rank: Int @index
  note: String @auth(requires: [ADMIN])
  parentId: ID @index
  parent: Task @belongsTo(field: "parentId")
}
`

// tasked is a service for tasks that change hands and states.
func tasked(t testing.TB, b *bus.Bus, ring int) *service {
	t.Helper()
	s := &service{Service: resourcetest.On(t, b, fstest.MapFS{"s.graphql": {Data: []byte(taskSchema)}}, resource.FeedOptions{Ring: ring})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	return s
}

func (s *service) task(t testing.TB, verb resource.Verb, input string, a ...any) resource.Record {
	t.Helper()
	r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Task", Verb: verb, Who: admin, Input: fmt.Appendf(nil, input, a...)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// churn creates, changes and deletes tasks of its own, from a few states and owners.
func (s *service) churn(t testing.TB, seed uint64, n int) (last uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	var ids []string
	for range n {
		owner, state, rank := []string{"ada", "ben"}[rng.IntN(2)], []string{"a", "b", "c"}[rng.IntN(3)], rng.IntN(5)
		switch kind := rng.IntN(10); {
		case len(ids) < 3 || kind < 2:
			r := s.task(t, resource.Create, `{"ownerId":%q,"state":%q,"rank":%d}`, owner, state, rank)
			ids, last = append(ids, idOf(t, r.Raw)), r.Seq
		case kind == 2:
			i := rng.IntN(len(ids))
			last = s.task(t, resource.Delete, `{"id":%q}`, ids[i]).Seq
			ids = slices.Delete(ids, i, i+1)
		case kind < 5:
			last = s.task(t, resource.Update, `{"id":%q,"ownerId":%q}`, ids[rng.IntN(len(ids))], owner).Seq
		default:
			last = s.task(t, resource.Update, `{"id":%q,"state":%q,"rank":%d}`, ids[rng.IntN(len(ids))], state, rank).Seq
		}
	}
	return last
}

// taskChange is one result of a subscription to taskChanged.
type taskChange struct {
	Kind   resource.Kind
	ID     string
	Cursor string
	Task   json.RawMessage
}

const taskSelection = `{ kind id cursor task { id ownerId state rank } }`

// changes reads the results of a subscription to taskChanged.
func (b *inbox) changes(t testing.TB) (list []taskChange) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, payload := range b.payloads {
		var r struct {
			Data struct{ TaskChanged *taskChange }
		}
		if err := json.Unmarshal(payload, &r); err != nil {
			t.Fatal(err)
		}
		if r.Data.TaskChanged != nil {
			list = append(list, *r.Data.TaskChanged)
		}
	}
	return list
}

// fold does what a client does with changes: it keeps the records that are
// there. It is strict: each kind must fit what the client has.
func fold(t testing.TB, state map[string]string, changes []taskChange) {
	t.Helper()
	for _, c := range changes {
		_, has := state[c.ID]
		switch c.Kind {
		case resource.Created, resource.Entered:
			if has {
				t.Errorf("%s of %s, which is there already", c.Kind, c.ID)
			}
			state[c.ID] = string(c.Task)
		case resource.Updated:
			if !has {
				t.Errorf("%s of %s, which is not there", c.Kind, c.ID)
			}
			state[c.ID] = string(c.Task)
		case resource.Deleted, resource.Left:
			if !has {
				t.Errorf("%s of %s, which is not there", c.Kind, c.ID)
			}
			delete(state, c.ID)
		default:
			t.Errorf("the kind %q", c.Kind)
		}
	}
}

// listed returns what a query says of the tasks that match.
func (s *service) listed(t testing.TB, who auth.Principal, filter string) map[string]string {
	t.Helper()
	state := map[string]string{}
	after := ""
	for {
		body := s.run(t, who, `query($after: String) { tasks(first: 100, after: $after, filter: `+filter+`) { nodes { id ownerId state rank } pageInfo { hasNextPage endCursor } } }`, after)
		var r struct {
			Data struct {
				Tasks *struct {
					Nodes    []json.RawMessage
					PageInfo struct {
						HasNextPage bool
						EndCursor   string
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil || r.Data.Tasks == nil {
			t.Fatalf("%v: %s", err, body)
		}
		for _, node := range r.Data.Tasks.Nodes {
			state[idOf(t, node)] = string(node)
		}
		if !r.Data.Tasks.PageInfo.HasNextPage {
			return state
		}
		after = fmt.Sprintf(`{"after":%q}`, r.Data.Tasks.PageInfo.EndCursor)
	}
}

var taskFilters = []string{
	`{}`,
	`{state: {eq: "a"}}`,
	`{state: {in: ["a", "b"]}, rank: {ge: 2}}`,
	`{not: {state: {eq: "a"}}}`,
	`{or: [{rank: {eq: 1}}, {rank: {eq: null}}, {state: {beginsWith: "c"}}]}`,
	`{rank: {between: [1, 3]}}`,
}

// Whoever folds the changes of the records that match gets what a list with the
// same filter says: live, resumed from the log or from memory, and by polling.
func TestChangesOfRecordsThatMatchFoldToTheList(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.Open(t, bus.Options{History: 10_000}), 16)
	start := s.Feed.Now().String()
	type watcher struct {
		who    auth.Principal
		filter string
		box    *inbox
	}
	var watchers []watcher
	for _, who := range []auth.Principal{ada, admin} {
		for _, filter := range taskFilters {
			w := watcher{who, filter, newInbox()}
			s.subscribe(t, who, `subscription { taskChanged(filter: `+filter+`) `+taskSelection+` }`, "", w.box)
			watchers = append(watchers, w)
		}
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() { s.churn(t, uint64(i), 60) })
	}
	writers.Wait()
	for _, w := range watchers {
		want := s.listed(t, w.who, w.filter)
		polled := s.pollTasks(t, w.who, w.filter, start)
		w.box.awaitCount(t, len(polled))
		live := w.box.changes(t)
		resumed := newInbox()
		s.subscribe(t, w.who, `subscription { taskChanged(filter: `+w.filter+`) `+taskSelection+` }`, start, resumed)
		resumed.awaitCount(t, len(polled))
		if got := resumed.changes(t); !equalChanges(got, live) || !equalChanges(polled, live) {
			t.Errorf("%s %s: %d live, %d resumed, %d polled", w.who.Subject, w.filter, len(live), len(got), len(polled))
		}
		got := map[string]string{}
		if fold(t, got, live); !maps.Equal(got, want) || len(live) < 5 {
			t.Errorf("%s %s: %d changes fold to %d records, the list has %d", w.who.Subject, w.filter, len(live), len(got), len(want))
		}
	}
}

func equalChanges(a, b []taskChange) bool {
	return slices.EqualFunc(a, b, func(a, b taskChange) bool {
		return a.Kind == b.Kind && a.ID == b.ID && a.Cursor == b.Cursor && string(a.Task) == string(b.Task)
	})
}

func (s *service) pollTasks(t testing.TB, who auth.Principal, filter, after string) (list []taskChange) {
	t.Helper()
	for {
		body := s.run(t, who, `query($after: String) { taskChanges(after: $after, first: 30, filter: `+filter+`) { nodes `+taskSelection+` endCursor hasMore } }`, fmt.Sprintf(`{"after":%q}`, after))
		var r struct {
			Data struct {
				TaskChanges *struct {
					Nodes     []taskChange
					EndCursor string
					HasMore   bool
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil || r.Data.TaskChanges == nil {
			t.Fatalf("%v: %s", err, body)
		}
		list = append(list, r.Data.TaskChanges.Nodes...)
		if after = r.Data.TaskChanges.EndCursor; !r.Data.TaskChanges.HasMore {
			return list
		}
	}
}

// A record that somebody else owns now is gone for its old owner, who is not
// told who has it and what became of it.
func TestWhoMayNoLongerReadARecordIsToldThatItLeft(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	boxes := map[string]*inbox{"ada": newInbox(), "ben": newInbox()}
	for _, who := range []auth.Principal{ada, ben} {
		s.subscribe(t, who, `subscription { taskChanged `+taskSelection+` }`, "", boxes[who.Subject])
	}
	id := idOf(t, s.task(t, resource.Create, `{"ownerId":"ada","state":"mine"}`).Raw)
	s.task(t, resource.Update, `{"id":%q,"ownerId":"ben","state":"secret"}`, id)
	s.task(t, resource.Update, `{"id":%q,"state":"more secret"}`, id)
	s.task(t, resource.Delete, `{"id":%q}`, id)
	boxes["ada"].awaitCount(t, 2)
	boxes["ben"].awaitCount(t, 3)
	for name, want := range map[string][]string{
		"ada": {`CREATED {"id":"` + id + `","ownerId":"ada","state":"mine","rank":null}`, `LEFT null`},
		"ben": {`ENTERED {"id":"` + id + `","ownerId":"ben","state":"secret","rank":null}`, `UPDATED {"id":"` + id + `","ownerId":"ben","state":"more secret","rank":null}`, `DELETED null`},
	} {
		var got []string
		for _, c := range boxes[name].changes(t) {
			got = append(got, fmt.Sprintf("%s %s", c.Kind, c.Task))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s was told %q", name, got)
		}
	}
}

func TestARecordThatLeftAFilterIsShownAsItIs(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	b := newInbox()
	s.subscribe(t, ada, `subscription { taskChanged(filter: {state: {eq: "open"}}) { kind task { state note } } }`, "", b)
	id := idOf(t, s.task(t, resource.Create, `{"ownerId":"ada","state":"open"}`).Raw)
	s.task(t, resource.Update, `{"id":%q,"state":"done","note":"n"}`, id)
	b.awaitCount(t, 2)
	wantData(t, string(b.payloads[1]), `{"taskChanged":{"kind":"LEFT","task":{"state":"done","note":null}}}`, fault.Forbidden)
}

// An event looks at the groups that it may concern, however many others listen.
func TestAnEventFindsItsGroupsByValue(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	const groups = 200
	boxes := make([]*inbox, groups)
	for i := range boxes {
		boxes[i] = newInbox()
		s.subscribe(t, admin, fmt.Sprintf(`subscription { taskChanged(filter: {state: {in: ["s%d", "t%d"]}}) `+taskSelection+` }`, i, i), "", boxes[i])
	}
	own := make([]*inbox, groups)
	for i := range own {
		own[i] = newInbox()
		who := auth.Principal{Subject: fmt.Sprint("owner", i), Roles: ada.Roles}
		s.subscribe(t, who, `subscription { taskChanged { kind } }`, "", own[i])
	}
	id := idOf(t, s.task(t, resource.Create, `{"ownerId":"owner7","state":"s3"}`).Raw)
	s.task(t, resource.Update, `{"id":%q,"state":"t3"}`, id)
	s.task(t, resource.Update, `{"id":%q,"state":"s5"}`, id)
	s.task(t, resource.Update, `{"id":%q,"state":"none"}`, id)
	s.task(t, resource.Delete, `{"id":%q}`, id)
	boxes[3].awaitCount(t, 3)
	boxes[5].awaitCount(t, 2)
	own[7].awaitCount(t, 5)
	var kinds []resource.Kind
	for _, c := range slices.Concat(boxes[3].changes(t), boxes[5].changes(t)) {
		kinds = append(kinds, c.Kind)
	}
	want := []resource.Kind{resource.Created, resource.Updated, resource.Left, resource.Entered, resource.Left}
	stats := s.engine.Stats()
	if !slices.Equal(kinds, want) || stats.Executions != 10 || stats.Groups != 2*groups {
		t.Errorf("%v, %+v", kinds, stats)
	}
}

func TestAFilterThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	for filter, code := range map[string]fault.Code{
		`{note: {eq: "x"}}`:          fault.ValidationFailed,
		`{state: {eq: 5}}`:           fault.ValidationFailed,
		`{state: {lt: null}}`:        "",
		`{rank: {between: [1]}}`:     fault.BadUserInput,
		`{rank: {between: [1,2,3]}}`: fault.BadUserInput,
	} {
		stop, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: `subscription { taskChanged(filter: ` + filter + `) { kind } }`}, "", newInbox())
		if (failed == nil) != (code == "") || failed != nil && failed.Code != code {
			t.Errorf("%s: %+v, want %q", filter, failed, code)
		}
		if stop != nil {
			stop()
		}
		r := decode(t, s.run(t, admin, `{ taskChanges(filter: `+filter+`) { hasMore } }`, ""))
		if len(r.Errors) > 0 != (code != "") || code != "" && r.Errors[0].Extensions.Code != code {
			t.Errorf("%s: %+v, want %q", filter, r.Errors, code)
		}
	}
}

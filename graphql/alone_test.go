package graphql_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// randomRule is a rule for reading: one or two of the roles.
func randomRule(r *rand.Rand) string {
	roles := []string{"ANYONE", "USER", "OWNER", "ADMIN", "SERVICE"}
	r.Shuffle(len(roles), func(i, j int) { roles[i], roles[j] = roles[j], roles[i] })
	return "@auth(requires: [" + strings.Join(roles[:1+r.IntN(2)], ", ") + "], on: [READ])"
}

// randomRules is a schema of two resources whose types and fields anybody, or
// some only, may read.
func randomRules(r *rand.Rand) string {
	field := func(name string) string {
		if r.IntN(4) == 0 {
			return name + ": String"
		}
		return name + ": String " + randomRule(r)
	}
	const write = "@auth(requires: [ADMIN], on: [CREATE, UPDATE, DELETE])"
	return fmt.Sprintf(`
type A @resource %s %s {
  id: ID!
  ownerId: ID! @owner
  %s
  %s
  bId: ID @index
  b: B @belongsTo(field: "bId") %s
}
type B @resource %s %s {
  id: ID!
  ownerId: ID! @owner
  %s
  %s
}`, randomRule(r), write, field("f"), field("g"), []string{"", randomRule(r)}[r.IntN(2)],
		randomRule(r), write, field("h"), field("i"))
}

const (
	aOf      = `{ id f g b { id h i } }`
	aChanged = `subscription { aChanged { kind a ` + aOf + ` } }`
)

// Whoever shares a group with others gets what an engine of its own gives, and of
// each record what a query of its own says: nothing of a caller gets lost on the
// way to its group, and nothing of the others comes from there.
func TestWhoSharesAGroupSeesWhatItWouldSeeAlone(t *testing.T) {
	t.Parallel()
	callers := []auth.Principal{
		{},
		{Subject: "ada", Roles: schema.User},
		{Subject: "ben", Roles: schema.User},
		{Subject: "eve", Roles: schema.User | schema.Admin},
		{Subject: "root", Roles: schema.Admin},
		{Subject: "crm", Roles: schema.Service},
		{Subject: "nil"}, // a token that grants nothing
	}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			text := randomRules(r)
			s := &service{Service: resourcetest.On(t, bustest.New(t), fstest.MapFS{"s.graphql": {Data: []byte(text)}}, resource.FeedOptions{})}
			s.engine = newEngine(t, s)
			owners := []string{"ada", "ben", "eve", "crm"}
			var bs, as []string
			for i, owner := range owners {
				b := s.submit(t, "B", fmt.Sprintf(`{"ownerId":%q,"h":"h%d","i":"i%d"}`, owner, i, i))
				s.awaitSeq(t, b.Seq)
				bs = append(bs, idOf(t, b.Raw))
			}
			list := subscribeAll(t, s, callers)
			for n := range 12 {
				a := s.submit(t, "A", fmt.Sprintf(`{"ownerId":%q,"f":"f","g":"g","bId":%q}`, owners[r.IntN(4)], bs[r.IntN(4)]))
				as = append(as, idOf(t, a.Raw))
				s.change(t, fmt.Sprintf(`{"id":%q,"ownerId":%q,"f":"f%d","bId":%q}`, as[n], owners[r.IntN(4)], n, bs[r.IntN(4)]))
			}
			last := map[string]string{}
			for _, who := range callers { // one that each can see who sees any
				last[who.Subject] = idOf(t, s.submit(t, "A", fmt.Sprintf(`{"ownerId":%q}`, cmp.Or(who.Subject, "nobody"))).Raw)
			}
			for _, l := range list {
				l.check(t, s, as, last[l.who.Subject])
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

func newEngine(t *testing.T, s *service) *graphql.Engine {
	t.Helper()
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// change updates a record.
func (s *service) change(t *testing.T, input string) {
	t.Helper()
	if _, err := s.Client.Submit(t.Context(), resource.Command{Type: "A", Verb: resource.Update, Who: admin, Input: json.RawMessage(input)}); err != nil {
		t.Fatal(err)
	}
}

// listener is a caller who is subscribed together with others, and alone.
type listener struct {
	who                   auth.Principal
	together, twin, alone *inbox
}

func subscribeAll(t *testing.T, s *service, callers []auth.Principal) (list []listener) {
	t.Helper()
	for _, who := range callers {
		l := listener{who, newInbox(), newInbox(), newInbox()}
		request := graphql.Request{Query: aChanged}
		_, refused := s.engine.Subscribe(t.Context(), who, request, "", l.together)
		own := newEngine(t, s)
		_, refusedAlone := own.Subscribe(t.Context(), who, request, "", l.alone)
		if (refused == nil) != (refusedAlone == nil) {
			t.Fatalf("%+v is refused together: %v, alone: %v", who, refused != nil, refusedAlone != nil)
		}
		if refused != nil {
			continue
		}
		if _, refused := s.engine.Subscribe(t.Context(), who, request, "", l.twin); refused != nil {
			t.Fatalf("the second time: %s", refused.Body)
		}
		list = append(list, l)
	}
	return list
}

// until returns what came before the caller's own last record.
func (l listener) until(t *testing.T, b *inbox, id string) (payloads []string) {
	t.Helper()
	end := `"id":"` + id + `"`
	find := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.IndexFunc(b.payloads, func(p []byte) bool { return strings.Contains(string(p), end) })
	}
	b.await(t, "the last record of "+l.who.Subject, func() bool { return find() >= 0 })
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.payloads {
		if strings.Contains(string(p), end) {
			break
		}
		payloads = append(payloads, string(p))
	}
	return payloads
}

func (l listener) check(t *testing.T, s *service, ids []string, end string) {
	t.Helper()
	alone := l.until(t, l.alone, end)
	for _, b := range []*inbox{l.together, l.twin} {
		if got := l.until(t, b, end); !slices.Equal(got, alone) {
			t.Errorf("%+v got\n%s\nand alone\n%s", l.who, strings.Join(got, "\n"), strings.Join(alone, "\n"))
		}
	}
	last := map[string]string{} // what was told of each record in the end
	for _, p := range alone {
		var m struct {
			Data struct {
				AChanged struct {
					Kind string
					A    json.RawMessage
				}
			}
		}
		if err := json.Unmarshal([]byte(p), &m); err != nil {
			t.Fatal(err)
		}
		var a struct{ ID string }
		_ = json.Unmarshal(m.Data.AChanged.A, &a) // null when it may not be read any more
		if a.ID != "" {
			last[a.ID] = string(m.Data.AChanged.A)
		}
	}
	for _, id := range ids {
		var now struct{ Data struct{ A json.RawMessage } }
		if err := json.Unmarshal([]byte(s.run(t, l.who, `{ a(id: "`+id+`") `+aOf+` }`, "")), &now); err != nil {
			t.Fatal(err)
		}
		if seen := string(now.Data.A); seen != "null" && last[id] != seen {
			t.Errorf("%+v was told last of %s\n%s\nand reads\n%s", l.who, id, last[id], seen)
		}
	}
}

package graphql_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

type pastPage struct {
	Nodes []struct {
		Kind, At, Cursor string
		Actor, Command   *string
		Note             *struct{ ID, Text string }
	}
	EndCursor         *string
	HasMore, Complete bool
}

const pastSelection = `{ nodes { kind at cursor actor command note { id text } } endCursor hasMore complete }`

func (s *service) past(t testing.TB, who auth.Principal, id, args string) pastPage {
	t.Helper()
	body := s.execute(t, who, fmt.Sprintf(`{ noteHistory(id: %q%s) %s }`, id, args, pastSelection))
	var r struct {
		Data   struct{ NoteHistory *pastPage }
		Errors []json.RawMessage
	}
	if err := json.Unmarshal(body, &r); err != nil || r.Errors != nil || r.Data.NoteHistory == nil {
		t.Fatalf("%s: %v", body, err)
	}
	return *r.Data.NoteHistory
}

func (s *service) execute(t testing.TB, who auth.Principal, query string) []byte {
	t.Helper()
	return s.engine.Execute(t.Context(), who, graphql.Request{Query: query}).Body
}

func TestTheHistoryOfARecordTellsWhatItWas(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.Open(t, bus.Options{History: 4}), 0)
	var note struct{ ID string }
	if err := json.Unmarshal(s.note(t, "ada").Raw, &note); err != nil {
		t.Fatal(err)
	}
	s.do(t, resource.Update, `{"id":%q,"text":"second"}`, note.ID)
	s.do(t, resource.Delete, `{"id":%q}`, note.ID)
	p := s.past(t, admin, note.ID, "")
	if len(p.Nodes) != 3 || !p.Complete || p.HasMore || p.EndCursor == nil || *p.EndCursor != p.Nodes[2].Cursor {
		t.Fatalf("%+v", p)
	}
	for i, want := range []string{"CREATED ada first", "UPDATED root second", "DELETED root -"} {
		n, text := p.Nodes[i], "-"
		if n.Note != nil {
			text = n.Note.Text
		}
		if n.Actor == nil || n.Command == nil || *n.Command == "" || n.At == "" || n.Kind+" "+*n.Actor+" "+text != want {
			t.Errorf("%d: %+v, want %s", i, n, want)
		}
	}
	first := s.past(t, admin, note.ID, ", first: 1")
	if len(first.Nodes) != 1 || !first.HasMore {
		t.Fatalf("%+v", first)
	}
	if rest := s.past(t, admin, note.ID, fmt.Sprintf(", after: %q", *first.EndCursor)); len(rest.Nodes) != 2 || rest.HasMore || !rest.Complete {
		t.Errorf("%+v", rest)
	}
	if none := s.past(t, admin, "nobody", ""); len(none.Nodes) != 0 || none.EndCursor != nil || none.HasMore || !none.Complete {
		t.Errorf("%+v", none)
	}
}

func TestAHistoryOfWhichTheBeginningIsGoneSaysSo(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.Open(t, bus.Options{History: 4}), 0)
	var note struct{ ID string }
	if err := json.Unmarshal(s.note(t, "ada").Raw, &note); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		s.do(t, resource.Update, `{"id":%q,"text":"%d"}`, note.ID, i)
	}
	if p := s.past(t, admin, note.ID, ""); len(p.Nodes) != 4 || p.Complete || p.Nodes[0].Note.Text != "2" {
		t.Errorf("%+v", p)
	}
}

func TestAHistoryIsForAdmins(t *testing.T) {
	t.Parallel()
	s := noted(t, bustest.New(t), 0)
	var note struct{ ID string }
	if err := json.Unmarshal(s.note(t, "ada").Raw, &note); err != nil {
		t.Fatal(err)
	}
	for _, who := range []auth.Principal{{}, ada, {Subject: "svc", Roles: schema.Service}} {
		body := s.execute(t, who, fmt.Sprintf(`{ noteHistory(id: %q) { complete } }`, note.ID))
		if !strings.Contains(string(body), `"FORBIDDEN"`) || !strings.Contains(string(body), `"noteHistory":null`) {
			t.Errorf("%v: %s", who, body)
		}
	}
	body := s.execute(t, admin, fmt.Sprintf(`{ noteHistory(id: %q, first: 100000) { complete } }`, note.ID))
	if !strings.Contains(string(body), `"errors"`) {
		t.Errorf("a page without an end: %s", body)
	}
}

// Who may call it by a rule of the adopter's still sees of a record what its own
// rules let him see.
func TestWhoMayNotReadARecordMayNotReadWhatItWas(t *testing.T) {
	t.Parallel()
	s := &service{Service: resourcetest.On(t, bustest.New(t), fstest.MapFS{"s.graphql": {Data: []byte(noteSchema + `
		type Query { noteHistory(id: ID!): NoteHistoryPage @auth(requires: [USER]) }`)}}, resource.FeedOptions{})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	var note struct{ ID string }
	if err := json.Unmarshal(s.note(t, "ada").Raw, &note); err != nil {
		t.Fatal(err)
	}
	query := fmt.Sprintf(`{ noteHistory(id: %q) { nodes { kind note { text secret } } } }`, note.ID)
	own, others := string(s.execute(t, ada, query)), string(s.execute(t, auth.Principal{Subject: "ben", Roles: ada.Roles}, query))
	if !strings.Contains(own, `"text":"first"`) || !strings.Contains(own, "FORBIDDEN") {
		t.Errorf("the owner gets %s", own)
	}
	if strings.Contains(others, "first") || !strings.Contains(others, `"note":null`) || !strings.Contains(others, "FORBIDDEN") {
		t.Errorf("another one gets %s", others)
	}
}

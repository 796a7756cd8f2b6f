package resource_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/resource"
	"tidings/schema"
)

var (
	anonymous = auth.Principal{}
	alice     = auth.Principal{Subject: "alice", Roles: schema.User}
	bob       = auth.Principal{Subject: "bob", Roles: schema.User}
	admin     = auth.Principal{Subject: "root", Roles: schema.Admin}
	partner   = auth.Principal{Subject: "partner", Roles: schema.Service}
	noon      = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

func social(t testing.TB) *schema.Model {
	t.Helper()
	m, err := schema.Load(os.DirFS("../examples/social"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const aliceRaw = `{"id":"alice","name":"Alice","email":"alice@example.com","adminNotes":"vip","avatar":null,"createdAt":"2026-01-01T00:00:00Z"}`

func TestDecide(t *testing.T) {
	t.Parallel()
	m := social(t)
	for _, c := range []struct {
		name    string
		who     auth.Principal
		typ     string
		verb    resource.Verb
		input   string
		current string
		want    string // the record, or CODE and the input's member
	}{
		{"a user creates their own record", alice, "User", resource.Create, `{"name":"Alice","email":"alice@example.com"}`, "",
			`{"id":"alice","name":"Alice","email":"alice@example.com","adminNotes":null,"avatar":null,"createdAt":"2026-11-20T12:00:00Z"}`},
		{"a service creates one for somebody", partner, "User", resource.Create, `{"id":"carol","name":"C","email":"c@example.com"}`, "",
			`{"id":"carol","name":"C","email":"c@example.com","adminNotes":null,"avatar":null,"createdAt":"2026-11-20T12:00:00Z"}`},
		{"a user creates none for somebody else", alice, "User", resource.Create, `{"id":"bob","name":"B","email":"b@example.com"}`, "", "FORBIDDEN input.id"},
		{"nobody creates none", anonymous, "User", resource.Create, `{"name":"A","email":"a@example.com"}`, "", "FORBIDDEN"},
		{"one record a subject", alice, "User", resource.Create, `{"name":"Alice","email":"alice@example.com"}`, aliceRaw, "CONFLICT"},
		{"a required value", alice, "User", resource.Create, `{"name":"Alice"}`, "", "BAD_USER_INPUT input.email"},
		{"a value of its kind", alice, "User", resource.Create, `{"name":"Alice","email":"nonsense"}`, "", "BAD_USER_INPUT input.email"},
		{"a constraint", alice, "User", resource.Create, `{"name":"","email":"alice@example.com"}`, "", "BAD_USER_INPUT input.name"},
		{"a field for administrators", alice, "User", resource.Create, `{"name":"A","email":"a@example.com","adminNotes":"x"}`, "", "FORBIDDEN input.adminNotes"},
		{"an unknown field", alice, "User", resource.Create, `{"name":"A","email":"a@example.com","rank":1}`, "", "BAD_USER_INPUT input.rank"},
		{"a timestamp is not set by hand", alice, "User", resource.Create, `{"name":"A","email":"a@example.com","createdAt":"2020-01-01T00:00:00Z"}`, "", "BAD_USER_INPUT input.createdAt"},
		{"a relation is not set", alice, "User", resource.Create, `{"name":"A","email":"a@example.com","posts":[]}`, "", "BAD_USER_INPUT input.posts"},
		{"defaults", alice, "Post", resource.Create, `{"title":"T"}`, "",
			`{"id":"new","authorId":"alice","title":"T","excerpt":null,"body":null,"kind":"ARTICLE","tags":[],"minutes":null,"createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z"}`},
		{"an id is made by the service", alice, "Post", resource.Create, `{"id":"mine","title":"T"}`, "", "BAD_USER_INPUT input.id"},
		{"an enum", alice, "Post", resource.Create, `{"title":"T","kind":"SONG"}`, "", "BAD_USER_INPUT input.kind"},
		{"not an object", alice, "Post", resource.Create, `[1]`, "", "BAD_USER_INPUT"},
		{"the owner changes one field", alice, "User", resource.Update, `{"id":"alice","name":"Al <&> é"}`, aliceRaw,
			`{"id":"alice","name":"Al <&> é","email":"alice@example.com","adminNotes":"vip","avatar":null,"createdAt":"2026-01-01T00:00:00Z"}`},
		{"an administrator clears one", admin, "User", resource.Update, `{"id":"alice","adminNotes":null}`, aliceRaw,
			`{"id":"alice","name":"Alice","email":"alice@example.com","adminNotes":null,"avatar":null,"createdAt":"2026-01-01T00:00:00Z"}`},
		{"somebody else changes nothing", bob, "User", resource.Update, `{"id":"alice","name":"B"}`, aliceRaw, "FORBIDDEN"},
		{"a required field is not cleared", alice, "User", resource.Update, `{"id":"alice","name":null}`, aliceRaw, "BAD_USER_INPUT input.name"},
		{"the owner may not note", alice, "User", resource.Update, `{"id":"alice","adminNotes":"x"}`, aliceRaw, "FORBIDDEN input.adminNotes"},
		{"no record to change", alice, "User", resource.Update, `{"id":"alice","name":"A"}`, "", "NOT_FOUND"},
		{"the owner deletes", alice, "User", resource.Delete, `{"id":"alice"}`, aliceRaw, `{"id":"alice"}`},
		{"somebody else does not", bob, "User", resource.Delete, `{"id":"alice"}`, aliceRaw, "FORBIDDEN"},
		{"nobody is told which records there are", anonymous, "User", resource.Delete, `{"id":"nobody"}`, "", "FORBIDDEN"},
		{"an id that is a number is its text", admin, "User", resource.Create, `{"id":5,"name":"N","email":"n@example.com"}`, "",
			`{"id":"5","name":"N","email":"n@example.com","adminNotes":null,"avatar":null,"createdAt":"2026-11-20T12:00:00Z"}`},
		{"an owner that is a number is its text", alice, "Post", resource.Create, `{"authorId":7,"title":"T"}`, "", "FORBIDDEN input.authorId"},
		{"no record to delete", admin, "User", resource.Delete, `{"id":"alice"}`, "", "NOT_FOUND"},
		{"no such resource", admin, "Ship", resource.Create, `{}`, "", "BAD_USER_INPUT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var current []byte
			if c.current != "" {
				current = []byte(c.current)
			}
			d, err := resource.Decide(m, resource.Command{Type: c.typ, Verb: c.verb, Input: json.RawMessage(c.input), Who: c.who}, current, noon, "new")
			got := string(d.Raw)
			if err != nil {
				f := fault.Of(err)
				got = strings.TrimSpace(string(f.Code) + " " + f.Field)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s\n(%v)", got, c.want, err)
			}
		})
	}
}

func TestADeletedRecordAnswersAsItWas(t *testing.T) {
	t.Parallel()
	d, err := resource.Decide(social(t), resource.Command{Type: "User", Verb: resource.Delete, Input: json.RawMessage(`{"id":"alice"}`), Who: admin}, []byte(aliceRaw), noon, "")
	if err != nil || string(d.Answer) != aliceRaw || d.Kind != resource.Deleted || len(d.Release) != 1 || len(d.Take) != 0 {
		t.Errorf("decision %+v, %v", d, err)
	}
}

func TestOnlyAChangedUniqueValueIsTakenAndReleased(t *testing.T) {
	t.Parallel()
	m := social(t)
	for input, want := range map[string]int{`{"id":"alice","name":"A"}`: 0, `{"id":"alice","email":"new@example.com"}`: 1, `{"id":"alice","email":"alice@example.com"}`: 0} {
		d, err := resource.Decide(m, resource.Command{Type: "User", Verb: resource.Update, Input: json.RawMessage(input), Who: alice}, []byte(aliceRaw), noon, "")
		if err != nil || len(d.Take) != want || len(d.Release) != want {
			t.Errorf("%s: take %d release %d, want %d each (%v)", input, len(d.Take), len(d.Release), want, err)
		}
	}
}

// The coercion of GraphQL adds the default to what a caller has not said: who may
// not set the field can create the record all the same.
func TestADefaultMayBeLeftAsItIsByWhoMayNotSetIt(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(sdl(`type Note @resource @auth(requires: [USER], on: [CREATE]) { id: ID! text: String! rank: Int! @default(value: 7) @auth(requires: [ADMIN]) }`))
	if err != nil {
		t.Fatal(err)
	}
	for input, may := range map[string]bool{`{"text":"a"}`: true, `{"text":"a","rank":7}`: true, `{"text":"a","rank":8}`: false} {
		_, err := resource.Decide(m, resource.Command{Type: "Note", Verb: resource.Create, Input: json.RawMessage(input), Who: alice}, nil, noon, "1")
		if (err == nil) != may {
			t.Errorf("%s: %v", input, err)
		}
	}
}

func FuzzDecide(f *testing.F) {
	m := social(f)
	f.Add("Post", "create", `{"title":"T","tags":["a"],"minutes":3}`, "")
	f.Add("User", "update", `{"id":"alice","name":null,"email":7}`, aliceRaw)
	f.Add("User", "delete", `{"id":"alice"}`, aliceRaw)
	f.Fuzz(func(t *testing.T, typ, verb, input, current string) {
		var raw []byte
		if current != "" {
			raw = []byte(current)
		}
		d, err := resource.Decide(m, resource.Command{Type: typ, Verb: resource.Verb(verb), Input: json.RawMessage(input), Who: alice}, raw, noon, "new")
		if err == nil && !json.Valid(d.Raw) {
			t.Errorf("the record is not JSON: %q", d.Raw)
		}
	})
}

// What Decide makes of a command lies where Target has said that it would.
func TestTargetAndDecideAgree(t *testing.T) {
	t.Parallel()
	m := social(t)
	for input, want := range map[string]string{
		`{"id":5,"name":"N","email":"n@example.com"}`:                                  "5",
		`{"id":"a","id":"b","name":"N","email":"n@example.com"}`:                       "b",
		`{"ID":"a","name":"N","email":"n@example.com"}`:                                "", // refused: there is no field ID
		`{"\u0069d":"c","name":"N","email":"n@example.com"}`:                           "c",
		`{"id":null,"name":"N","email":"n@example.com"}`:                               "root",
		`{"id":"` + strings.Repeat("x", 300) + `","name":"N","email":"n@example.com"}`: "",
	} {
		cmd := resource.Command{Type: "User", Verb: resource.Create, Input: json.RawMessage(input), Who: admin}
		id, err := resource.Target(m, cmd, "new")
		if id != want || (err != nil) != (want == "") {
			t.Errorf("%.60s: %q, %v", input, id, err)
		}
		if d, err := resource.Decide(m, cmd, nil, noon, "new"); want != "" && (err != nil || d.ID != want) {
			t.Errorf("%.60s: decided on %q, %v", input, d.ID, err)
		}
	}
}

func TestALongIDIsRefusedBeforeItReachesTheBus(t *testing.T) {
	t.Parallel()
	m := social(t)
	long := json.RawMessage(`{"id":"` + strings.Repeat("a", 5000) + `"}`)
	for _, verb := range []resource.Verb{resource.Create, resource.Update, resource.Delete} {
		if _, err := resource.Target(m, resource.Command{Type: "User", Verb: verb, Input: long, Who: anonymous}, "new"); err == nil {
			t.Errorf("%s: accepted", verb)
		}
	}
}

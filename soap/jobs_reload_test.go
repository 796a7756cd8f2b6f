package soap_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/job"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/soap"
)

// A schema is exchanged in the midst of a job: those who go on with it run its
// document by another schema than those who began.
func TestAJobGoesOnUnderAnotherSchema(t *testing.T) {
	t.Parallel()
	const note = `type Note @resource @auth(requires: [USER]) { id: ID! text: String! @unique %s }`
	for name, next := range map[string]struct {
		field string
		runs  bool // the documents of before
	}{
		"a field more":         {`more: String other: Int`, true},
		"a field less":         {``, false},
		"a field that must be": {`more: String must: String!`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			dir := func(field string) fstest.MapFS {
				return fstest.MapFS{"s.graphql": {Data: fmt.Appendf(nil, note, field)}}
			}
			s := resourcetest.On(t, b, dir(`more: String`), resource.FeedOptions{})
			jobs, err := job.Open(t.Context(), b, job.Options{Pause: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			o := trusting
			o.Jobs = jobs
			stop := runService(t, newService(t, s, o, accounts(t), graphql.Options{}))
			alice := auth.Principal{Subject: "alice", Roles: people["alice"]}
			document, err := soap.Document(s.Model, "CreateNote")
			if err != nil {
				t.Fatal(err)
			}
			items := make([]job.Input, 600)
			for i := range items {
				items[i].Data = fmt.Appendf(nil, `{"input":{"text":"n%d"}}`, i)
			}
			id, err := jobs.Submit(t.Context(), alice, job.Order{Kind: "SubmitCreateNotes", Document: document, Items: items})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the job is in its midst", func() bool { return notes(t, s) > 20 })
			stop()
			after := resourcetest.Reader(t, b, dir(next.field), resource.FeedOptions{})
			runService(t, newService(t, after, o, accounts(t), graphql.Options{}))
			var status job.Status
			eventually(t, "the job is over", func() bool {
				status, err = jobs.Look(t.Context(), alice, id)
				return err == nil && status.State.Final()
			})
			if status.State != job.Done || status.Done != len(items) {
				t.Fatalf("%+v", status)
			}
			told, open := 0, 0
			for page := range status.Pages {
				p, err := jobs.Page(t.Context(), alice, id, page)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range p.Outcomes {
					switch {
					case o.Error == nil:
						told++
					case strings.Contains(o.Error.Message, "may have been carried out"):
						open++
					}
				}
			}
			if n := notes(t, s); n < told || n > told+open || next.runs && n != len(items) {
				t.Errorf("there are %d notes; %d are told, and of %d it is said that they may be there", n, told, open)
			}
			if next.runs && status.Failed > 0 || open > job.MaxPage {
				t.Errorf("%+v, %d open", status, open)
			}
		})
	}
}

// notes counts them, as the log says.
func notes(t *testing.T, s *resourcetest.Service) int {
	t.Helper()
	_, last, err := s.Bus.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	n, err := s.Client.Count(t.Context(), auth.Principal{Subject: "alice", Roles: people["alice"]}, "Note", nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

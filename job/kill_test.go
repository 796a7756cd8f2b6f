package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/job"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// worker names the variable that makes this test binary a worker, to be killed.
const worker = "TIDINGS_TEST_WORKER"

const notes = `
type Note @resource @auth(requires: [OWNER], on: [READ, UPDATE, DELETE]) @auth(requires: [USER], on: [CREATE]) {
  id: ID!
  ownerId: ID! @owner
  text: String! @unique
}
`

const (
	createNote = `mutation($input: CreateNoteInput!) { result: createNote(input: $input) { id text } }`
	total      = 500
	kills      = 3
)

// patience is short, so that the test is.
var jobOptions = job.Options{Concurrency: 1, Patience: 500 * time.Millisecond, Pause: 50 * time.Millisecond}

// A job goes on at another process when its worker is killed, and each of its
// items is carried out once: none is missing, none is there twice.
func TestAJobSurvivesKill9(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	server := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	j := open(t, server, jobOptions)
	items := make([]job.Input, total)
	for i := range items {
		items[i].Data = fmt.Appendf(nil, `{"input":{"text":"note %d"}}`, i)
	}
	id := submit(t, j, ada, job.Order{Kind: "notes", Document: createNote, Items: items})
	for round := range kills {
		killAfter(t, server, 70)
		if st := await(t, j, id, func(job.Status) bool { return true }); st.State != job.Running {
			t.Fatalf("after kill %d: %+v", round+1, st)
		}
	}
	defer startWorker(t, server.URL())()
	st := await(t, j, id, over)
	if st.State != job.Done || st.Done != total || st.Failed != 0 {
		t.Fatalf("%+v", st)
	}
	seen := map[string]int{} // by the text, in the log: what was created twice would have been stored twice
	_, end, err := server.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(t.Context(), server.Subjects().Records("Note"), 0, end, func(m bus.Message) error {
		var n struct{ Text string }
		if err := json.Unmarshal(m.Data, &n); err != nil {
			return err
		}
		seen[n.Text]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	at := 0
	for page := range st.Pages {
		p, err := j.Page(t.Context(), ada, id, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range p.Outcomes {
			if text := fmt.Sprintf("note %d", at); seen[text] != 1 || !strings.Contains(string(o.Result), `"`+text+`"`) {
				t.Errorf("item %d is stored %d times, and answered by %s %v", at, seen[text], o.Result, o.Error)
			}
			at++
		}
	}
	if at != total || len(seen) != total {
		t.Errorf("%d results, %d notes, of %d", at, len(seen), total)
	}
}

// killAfter starts a worker and kills it when it has made some changes: each is a
// record and a reservation.
func killAfter(t *testing.T, server *bus.Bus, changes uint64) {
	t.Helper()
	end := func() uint64 {
		_, last, err := server.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	goal := end() + 2*changes
	kill := startWorker(t, server.URL())
	defer kill()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	late := time.After(time.Minute)
	for end() < goal {
		select {
		case <-poll.C:
		case <-late:
			t.Fatal("the worker does nothing")
		}
	}
}

func startWorker(t *testing.T, url string) (kill func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWorker$")
	cmd.Env = append(os.Environ(), worker+"="+url)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill() // SIGKILL; it may have ended
		_ = cmd.Wait()
		cancel()
	}
}

// TestWorker is the worker, when it is told of a bus.
func TestWorker(t *testing.T) {
	url := os.Getenv(worker)
	if url == "" {
		t.Skip("is started by TestAJobSurvivesKill9")
	}
	b := bustest.Open(t, bus.Options{URL: url})
	s := resourcetest.On(t, b, fstest.MapFS{"s.graphql": {Data: []byte(notes)}}, resource.FeedOptions{})
	engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := open(t, b, jobOptions)
	if err := j.Work(t.Context(), func(ctx context.Context, who auth.Principal, p job.Part) []job.Outcome {
		return carried(ctx, engine, who, p)
	}); err != nil {
		t.Error(err)
	}
}

// carried carries a part out.
func carried(ctx context.Context, engine *graphql.Engine, who auth.Principal, p job.Part) []job.Outcome {
	answers := engine.ExecuteMany(ctx, who, graphql.Many{Variables: p.Inputs, Width: 4, Request: graphql.Request{Query: p.Document, Trusted: true, Counted: true,
		Sent: &graphql.Sent{ID: p.Command, Since: p.Since, Again: p.Again}}})
	outcomes := make([]job.Outcome, len(p.Inputs))
	for i, body := range answers.Items {
		var res struct {
			Errors []struct {
				Extensions struct{ Code fault.Code }
			}
		}
		switch err := json.Unmarshal(body, &res); {
		case err != nil:
			outcomes[i].Error = fault.Of(err)
		case len(res.Errors) > 0:
			outcomes[i].Error = fault.New(res.Errors[0].Extensions.Code, "%s", body)
		default:
			outcomes[i].Result = body
		}
	}
	return outcomes
}

//go:build unix

package job_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
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

// The variables that make this test binary a worker which stops itself: where the
// bus is, and whether it stops before or after it carries a part out.
const (
	pausing  = "TIDINGS_TEST_PAUSING"
	pausesAt = "TIDINGS_TEST_PAUSES_AT"
)

const profiles = `
type Profile @resource @auth(requires: [OWNER], on: [READ, UPDATE, DELETE]) @auth(requires: [USER], on: [CREATE]) {
  id: ID! @owner
  name: String!
}
`

const renameProfile = `mutation($input: UpdateProfileInput!) { result: updateProfile(input: $input) { id name } }`

// renaming is a world with a job of one item: the change of a profile that there is
// not yet.
type renaming struct {
	*resourcetest.Service
	jobs *job.Jobs
	id   string
}

func newRenaming(t *testing.T) *renaming {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	server := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	s := resourcetest.On(t, server, fstest.MapFS{"s.graphql": {Data: []byte(profiles)}}, resource.FeedOptions{})
	j := open(t, server, jobOptions)
	id := submit(t, j, ada, job.Order{Kind: "profiles", Document: renameProfile, Items: []job.Input{{Data: json.RawMessage(`{"input":{"id":"ada","name":"by the job"}}`)}}})
	return &renaming{Service: s, jobs: j, id: id}
}

// create makes the profile.
func (r *renaming) create(t *testing.T) {
	t.Helper()
	_, err := r.Client.Submit(t.Context(), resource.Command{Type: "Profile", Verb: resource.Create, Who: ada, Input: json.RawMessage(`{"name":"by hand"}`)})
	if err != nil {
		t.Fatal(err)
	}
}

// stored is the name in the log.
func (r *renaming) stored(t *testing.T) string {
	t.Helper()
	m, err := r.Bus.Last(t.Context(), r.Bus.Subjects().Record("Profile", "ada"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Name string }
	if err := json.Unmarshal(m.Data, &p); err != nil {
		t.Fatal(err)
	}
	return p.Name
}

// outcome waits for the end of the job.
func (r *renaming) outcome(t *testing.T) *fault.Error {
	t.Helper()
	await(t, r.jobs, r.id, over)
	p, err := r.jobs.Page(t.Context(), ada, r.id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p.Outcomes[0].Error
}

// work carries jobs out here; after is called when a part has been.
func (r *renaming) work(t *testing.T, after func()) {
	t.Helper()
	engine, err := graphql.New(r.Model, r.Client, r.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resourcetest.Run(t, "jobs", func(ctx context.Context) error {
		return r.jobs.Work(ctx, func(ctx context.Context, who auth.Principal, p job.Part) []job.Outcome {
			defer after()
			return carried(ctx, engine, who, p)
		})
	})
}

// An item that was refused is not carried out afterwards by the worker that had
// stood still with it and lost its turn.
func TestAWorkerThatStoodStillCarriesNothingOutAfterItsTurn(t *testing.T) {
	t.Parallel()
	r := newRenaming(t)
	paused := startPausing(t, r.Bus.URL(), "before")
	r.work(t, func() {})
	if f := r.outcome(t); f == nil || f.Code != fault.NotFound {
		t.Fatalf("there was no such profile, and the outcome is %v", f)
	}
	r.create(t)
	paused.goOn(t)
	if name := r.stored(t); name != "by hand" {
		t.Errorf("the item was refused, and the profile is changed %s", name)
	}
}

// What the worker found that has its turn is the result, whatever the one that had
// stood still with it has found.
func TestAWorkerThatStoodStillSaysNothingAfterItsTurn(t *testing.T) {
	t.Parallel()
	r := newRenaming(t)
	paused := startPausing(t, r.Bus.URL(), "after")
	r.create(t)
	r.work(t, func() { paused.goOn(t) })
	if f := r.outcome(t); f != nil {
		t.Errorf("the item was carried out (the profile is changed %s), and the outcome is %v", r.stored(t), f)
	}
}

// pausingWorker is a process that stands still with a part of a job.
type pausingWorker struct {
	cmd  *exec.Cmd
	says *bufio.Scanner
}

// startPausing returns when the process stands still.
func startPausing(t *testing.T, url, at string) *pausingWorker {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPausingWorker$")
	cmd.Env = append(os.Environ(), pausing+"="+url, pausesAt+"="+at)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &pausingWorker{cmd: cmd, says: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		cancel()
	})
	w.await(t, "stops")
	return w
}

// await reads until the process says a word.
func (w *pausingWorker) await(t *testing.T, word string) {
	for w.says.Scan() {
		if strings.HasSuffix(w.says.Text(), word) {
			return
		}
	}
	t.Errorf("the worker never said %q: %v", word, w.says.Err())
}

// goOn lets the process go on, and returns when it has nothing more to do.
func (w *pausingWorker) goOn(t *testing.T) {
	if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	w.await(t, "idle")
}

// TestPausingWorker is the process, when it is told of a bus.
func TestPausingWorker(t *testing.T) {
	url := os.Getenv(pausing)
	if url == "" {
		t.Skip("is started by other tests")
	}
	b := bustest.Open(t, bus.Options{URL: url})
	s := resourcetest.Reader(t, b, fstest.MapFS{"s.graphql": {Data: []byte(profiles)}}, resource.FeedOptions{})
	w := resource.NewWorker(b, s.Model, resource.WorkerOptions{Reads: s.Client})
	resourcetest.Run(t, "worker", w.Run)
	<-w.Ready()
	s.Client.Use(w)
	engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := func() {
		fmt.Println("stops")
		last, gap := time.Now(), time.Duration(0)
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		for gap < jobOptions.Patience/2 { // a thread may go on for a moment
			runtime.Gosched()
			now := time.Now() // read once: it may stand still between two looks at the clock
			gap, last = now.Sub(last), now
		}
		go func() { // it has another part to give up, or to tell of
			until(t, func() bool { return b.Taken() == 0 })
			fmt.Println("idle")
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := open(t, b, jobOptions).Work(ctx, func(ctx context.Context, who auth.Principal, p job.Part) []job.Outcome {
		if os.Getenv(pausesAt) == "before" {
			stop()
		}
		outcomes := carried(ctx, engine, who, p)
		if os.Getenv(pausesAt) == "after" {
			stop()
		}
		return outcomes
	}); err != nil {
		t.Error(err)
	}
}

func until(t *testing.T, fn func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !fn() {
		select {
		case <-tick.C:
		case <-late:
			t.Error("it never came about")
			return
		}
	}
}

package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/job"
	"tidings/schema"
)

var (
	ada  = auth.Principal{Subject: "ada", Roles: schema.User}
	ben  = auth.Principal{Subject: "ben", Roles: schema.User}
	root = auth.Principal{Subject: "root", Roles: schema.Admin}
)

func open(t testing.TB, b *bus.Bus, o job.Options) *job.Jobs {
	t.Helper()
	j, err := job.Open(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// item is one of a part, as each hands it on.
type item struct {
	Kind, Document, Command string
	Input                   json.RawMessage
	Again                   bool
}

// each is a Runner that carries out the items one after another.
func each(fn func(ctx context.Context, who auth.Principal, i item) job.Outcome) job.Runner {
	return func(ctx context.Context, who auth.Principal, p job.Part) []job.Outcome {
		outcomes := make([]job.Outcome, len(p.Inputs))
		for n, input := range p.Inputs {
			outcomes[n] = fn(ctx, who, item{p.Kind, p.Document, fmt.Sprintf("%s-%d", p.Command, n), input, p.Again})
		}
		return outcomes
	}
}

// work runs a worker until stop is called, or the test ends.
func work(t testing.TB, j *job.Jobs, run func(context.Context, auth.Principal, item) job.Outcome) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := j.Work(ctx, each(run)); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

// numbers are items 0, 1, 2 and so on.
func numbers(n int) []job.Input {
	items := make([]job.Input, n)
	for i := range items {
		items[i] = job.Input{Ref: fmt.Sprintf("row %d", i), Data: fmt.Append(nil, i)}
	}
	return items
}

// echo answers each item with itself, and refuses what ends in 7.
func echo(_ context.Context, _ auth.Principal, item item) job.Outcome {
	if strings.HasSuffix(string(item.Input), "7") {
		return job.Outcome{Error: fault.Input("n", "a seven")}
	}
	return job.Outcome{Result: item.Input}
}

func submit(t testing.TB, j *job.Jobs, who auth.Principal, o job.Order) string {
	t.Helper()
	id, err := j.Submit(t.Context(), who, o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// await looks at a job until it is as wanted.
func await(t testing.TB, j *job.Jobs, id string, wanted func(job.Status) bool) job.Status {
	t.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	late := time.After(60 * time.Second)
	for {
		s, err := j.Look(t.Context(), root, id)
		if err == nil && wanted(s) {
			return s
		}
		select {
		case <-poll.C:
		case <-late:
			t.Fatalf("the job never got there: %+v %v", s, err)
		}
	}
}

func over(s job.Status) bool { return s.State.Final() }

func TestAJobIsCarriedOutInOrderAndTellsWhatCameOfEachItem(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{})
	const n = 2*job.MaxPage + 50
	id := submit(t, j, ada, job.Order{Kind: "echo", Document: "d", Items: numbers(n)})
	s := await(t, j, id, func(job.Status) bool { return true })
	if s.State != job.Queued || s.Total != n || s.Done != 0 || s.Pages != 3 || s.RetryAfter < 1 || s.Submitted.IsZero() || s.Kind != "echo" {
		t.Errorf("at first: %+v", s)
	}
	if _, err := j.Page(t.Context(), ada, id, 0); !fault.Is(err, fault.NotFound) || fault.Of(err).RetryAfter == 0 {
		t.Errorf("a page that is not there yet: %v", err)
	}
	var mu sync.Mutex
	var order, commands []string
	work(t, j, func(ctx context.Context, who auth.Principal, item item) job.Outcome {
		mu.Lock()
		defer mu.Unlock()
		order, commands = append(order, string(item.Input)), append(commands, item.Command)
		if who.Subject != "ada" || item.Document != "d" || item.Again {
			t.Errorf("%v %+v", who, item)
		}
		return echo(ctx, who, item)
	})
	s = await(t, j, id, over)
	if s.State != job.Done || s.Done != n || s.Failed != n/10 || s.Ready != 3 || s.RetryAfter != 0 {
		t.Errorf("at last: %+v", s)
	}
	for i, item := range numbers(n) {
		if order[i] != string(item.Data) || commands[i] != fmt.Sprintf("%s-%d-%d", id, i/job.MaxPage, i%job.MaxPage) {
			t.Fatalf("item %d was %s as %s", i, order[i], commands[i])
		}
	}
	at := 0
	for page := range 3 {
		p, err := j.Page(t.Context(), ada, id, page)
		if err != nil || p.First != at || p.Number != page {
			t.Fatalf("page %d: %+v %v", page, p, err)
		}
		for _, o := range p.Outcomes {
			if seven := at%10 == 7; o.Ref != fmt.Sprintf("row %d", at) || seven != (o.Error != nil) || !seven && string(o.Result) != fmt.Sprint(at) {
				t.Errorf("item %d: %+v", at, o)
			}
			at++
		}
	}
	if _, err := j.Page(t.Context(), ada, id, 3); at != n || !fault.Is(err, fault.NotFound) {
		t.Errorf("%d results; after the last page: %v", at, err)
	}
}

func TestJobsTakeTurns(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Concurrency: 1})
	large := submit(t, j, ada, job.Order{Kind: "large", Items: numbers(20 * job.MaxPage)})
	small := submit(t, j, ben, job.Order{Kind: "small", Items: numbers(2 * job.MaxPage)})
	var turns []string // of one worker, after one another
	stop := work(t, j, func(_ context.Context, _ auth.Principal, item item) job.Outcome {
		if len(turns) == 0 || turns[len(turns)-1] != item.Kind {
			turns = append(turns, item.Kind)
		}
		return job.Outcome{Result: item.Input}
	})
	await(t, j, small, over)
	await(t, j, large, over)
	stop()
	if want := []string{"large", "small", "large", "small", "large"}; !slices.Equal(turns, want) {
		t.Errorf("turns: %v", turns)
	}
}

func TestTheSameKeyIsTheSameJob(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Queued: 2})
	order := job.Order{Kind: "echo", Items: numbers(3), Key: "k"}
	id := submit(t, j, ada, order)
	for range 3 {
		if again := submit(t, j, ada, order); again != id {
			t.Errorf("%s, then %s", id, again)
		}
	}
	if other := submit(t, j, ben, order); other == id {
		t.Error("somebody else's key")
	}
	order.Items = numbers(4)
	if _, err := j.Submit(t.Context(), ada, order); !fault.Is(err, fault.Conflict) {
		t.Errorf("another job with the key: %v", err)
	}
	work(t, j, echo)
	await(t, j, id, over)
	order.Items = numbers(3)
	if again := submit(t, j, ada, order); again != id {
		t.Error("when it is done it is another job")
	}
}

func TestAJobIsItsSubmittersOwn(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{})
	id := submit(t, j, ada, job.Order{Kind: "echo", Items: numbers(1)})
	for who, may := range map[*auth.Principal]bool{&ada: true, &ben: false, &root: true, {}: false} {
		_, look := j.Look(t.Context(), *who, id)
		_, page := j.Page(t.Context(), *who, id, 0)
		if (look == nil) != may || !fault.Is(page, fault.NotFound) || !may && !fault.Is(look, fault.NotFound) {
			t.Errorf("%q: %v, %v", who.Subject, look, page)
		}
		if _, err := j.Cancel(t.Context(), *who, id); !may && !fault.Is(err, fault.NotFound) {
			t.Errorf("%q cancels: %v", who.Subject, err)
		}
	}
	for _, id := range []string{"", "x", id + "-0", strings.Repeat("x", 36)} {
		if _, err := j.Look(t.Context(), root, id); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestJobsAreBounded(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Queued: 2, Items: 5, Bytes: 1 << 20})
	for what, c := range map[string]struct {
		who  auth.Principal
		n    int
		code fault.Code
	}{
		"nobody":   {auth.Principal{}, 1, fault.Unauthenticated},
		"nothing":  {ben, 0, fault.BadUserInput},
		"too many": {ben, 6, fault.BadUserInput},
	} {
		if _, err := j.Submit(t.Context(), c.who, job.Order{Items: numbers(c.n)}); !fault.Is(err, c.code) {
			t.Errorf("%s: %v", what, err)
		}
	}
	first := submit(t, j, ada, job.Order{Items: numbers(1)})
	submit(t, j, ada, job.Order{Items: numbers(1)})
	if _, err := j.Submit(t.Context(), ada, job.Order{Items: numbers(1)}); !fault.Is(err, fault.RateLimited) || fault.Of(err).RetryAfter == 0 {
		t.Errorf("a third: %v", err)
	}
	if s, err := j.Cancel(t.Context(), ada, first); err != nil || s.State != job.Cancelled {
		t.Fatalf("%+v %v", s, err)
	}
	submit(t, j, ada, job.Order{Items: numbers(1)})
	text := func(n int) job.Input { return job.Input{Data: json.RawMessage(`"` + strings.Repeat("x", n) + `"`)} }
	if _, err := j.Submit(t.Context(), ben, job.Order{Items: []job.Input{text(200_000), text(200_000), text(200_000)}}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("more than there is room for: %v", err)
	}
	if _, err := j.Submit(t.Context(), ben, job.Order{Items: []job.Input{text(600_000)}}); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("an item that is too large: %v", err)
	}
	submit(t, j, ben, job.Order{Items: []job.Input{text(100_000)}})
	if _, err := j.Submit(t.Context(), ben, job.Order{Items: []job.Input{text(100_000)}}); !fault.Is(err, fault.RateLimited) || fault.Of(err).RetryAfter < 80_000 {
		t.Errorf("more than one caller may have: %v", err)
	}
}

func TestACancelledJobGoesNoFurther(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Concurrency: 1})
	id := submit(t, j, ada, job.Order{Items: numbers(3 * job.MaxPage)})
	next := submit(t, j, ada, job.Order{Items: numbers(1)})
	work(t, j, func(ctx context.Context, who auth.Principal, item item) job.Outcome {
		if string(item.Input) == "5" {
			if _, err := j.Cancel(ctx, who, id); err != nil {
				t.Error(err)
			}
		}
		return job.Outcome{Result: item.Input}
	})
	await(t, j, next, over)
	if s := await(t, j, id, over); s.State != job.Cancelled || s.Done > job.MaxPage {
		t.Errorf("%+v", s)
	}
	if _, err := j.Page(t.Context(), ada, id, 2); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "CANCELLED") {
		t.Errorf("a page of it: %v", err)
	}
}

func TestAJobEndsWhenItsCallerCountsNoMore(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	gone := false
	j := open(t, bustest.New(t), job.Options{Concurrency: 1, Standing: func(auth.Principal) error {
		mu.Lock()
		defer mu.Unlock()
		if gone {
			return fault.New(fault.Unauthenticated, "the token was revoked")
		}
		return nil
	}})
	id := submit(t, j, ada, job.Order{Items: numbers(3 * job.MaxPage)})
	work(t, j, func(_ context.Context, _ auth.Principal, item item) job.Outcome {
		mu.Lock()
		defer mu.Unlock()
		gone = true
		return job.Outcome{Result: item.Input}
	})
	if s := await(t, j, id, over); s.State != job.Failed || s.Reason != "the token was revoked" || s.Done != job.MaxPage {
		t.Errorf("%+v", s)
	}
}

func TestWhatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Pause: time.Millisecond})
	id := submit(t, j, ada, job.Order{Items: numbers(3)})
	var mu sync.Mutex
	tries := map[string]int{}
	work(t, j, func(_ context.Context, _ auth.Principal, item item) job.Outcome {
		mu.Lock()
		defer mu.Unlock()
		n := string(item.Input)
		tries[n]++
		switch {
		case n == "1" && tries[n] < 3:
			return job.Outcome{Error: fault.New(fault.Unavailable, "away")}
		case n == "1" && !item.Again:
			t.Error("it was not said that it is carried out again")
		case n == "2" && tries[n] < 5:
			panic("a bug")
		}
		return job.Outcome{Result: item.Input}
	})
	s := await(t, j, id, over)
	p, err := j.Page(t.Context(), ada, id, 0)
	if err != nil || s.State != job.Done || s.Failed != 0 || string(p.Outcomes[1].Result) != "1" || tries["0"] < 5 {
		t.Errorf("%+v %+v %v", s, p, err)
	}
}

func TestWhatStaysAwayIsToldInTheEnd(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Pause: time.Millisecond})
	id := submit(t, j, ada, job.Order{Items: numbers(2)})
	work(t, j, func(context.Context, auth.Principal, item) job.Outcome {
		panic("a bug")
	})
	if s := await(t, j, id, over); s.State != job.Done || s.Failed != 2 {
		t.Errorf("%+v", s)
	}
}

func TestAPageHoldsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{})
	id := submit(t, j, ada, job.Order{Items: numbers(10)})
	large := json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)
	work(t, j, func(context.Context, auth.Principal, item) job.Outcome { return job.Outcome{Result: large} })
	await(t, j, id, over)
	p, err := j.Page(t.Context(), ada, id, 0)
	if err != nil || len(p.Outcomes) != 10 || p.Outcomes[1].Result == nil || p.Outcomes[2].Result != nil || p.Outcomes[2].Error != nil {
		t.Errorf("%d outcomes, %v", len(p.Outcomes), err)
	}
}

// A bucket without room for results takes what came of the items without them.
func TestJobsGoOnWhenThereIsNoRoomForResults(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Bytes: 1 << 20, Pause: time.Millisecond})
	var ids []string
	for range 6 {
		ids = append(ids, submit(t, j, ada, job.Order{Items: numbers(10)}))
	}
	large := json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)
	work(t, j, func(context.Context, auth.Principal, item) job.Outcome { return job.Outcome{Result: large} })
	told := 0
	for _, id := range ids {
		s := await(t, j, id, over)
		p, err := j.Page(t.Context(), ada, id, 0)
		if err != nil || s.State != job.Done || s.Done != 10 || s.Failed != 0 || len(p.Outcomes) != 10 || p.Outcomes[9].Ref != "row 9" {
			t.Fatalf("%+v %v", s, err)
		}
		if p.Outcomes[0].Result != nil {
			told++
		}
	}
	if told == 0 || told == len(ids) {
		t.Errorf("the results of %d of %d jobs are kept", told, len(ids))
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"k","document":"d","who":{"sub":"ada","roles":2},"total":3,"parts":1,"next":0,"begun":true,"since":7,"done":0,"failed":0,"submitted":"2030-01-01T00:00:00Z","updated":"2030-01-01T00:00:00Z"}`,
		`{"kind":"k","who":{"sub":"ada"},"total":3,"parts":1,"next":1,"end":"DONE"}`,
		`{"first":0,"items":[{"ref":"row 1","data":{}}]}`, `{"first":100,"outcomes":[{"result":{}},{"error":{"code":"CONFLICT","message":"m"}}]}`,
		`{"job":"018f2b6e-7c1e-7000-8000-000000000001","part":1}`, `{}`, `null`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, errs := job.Decode(raw)
		if errs[0] == nil && (s.State == "" || s.State.Final() != (s.RetryAfter == 0) || s.Ready > s.Pages) {
			t.Errorf("%s is %+v", raw, s)
		}
	})
}

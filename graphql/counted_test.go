package graphql_test

import (
	"testing"
	"testing/fstest"
	"time"

	"strings"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// counted is a service for tasks, with the schema given, and what it counts.
func counted(t testing.TB, sdl string) (*service, *proc.Metrics) {
	t.Helper()
	m := proc.NewMetrics()
	s := &service{Service: resourcetest.On(t, bustest.Open(t, bus.Options{History: 10_000}), fstest.MapFS{"s.graphql": {Data: []byte(sdl)}}, resource.FeedOptions{Ring: 4})}
	var err error
	if s.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Metrics: m}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	return s, m
}

// becomes waits for numbers: some are counted a moment after what they count.
func becomes(t *testing.T, m *proc.Metrics, want proctest.Numbers) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		n, right := proctest.Scrape(t, m), true
		for series, value := range want {
			right = right && n[series] == value
		}
		if right {
			return
		}
		if time.Now().After(deadline) {
			n.Expect(t, want)
			return
		}
		<-tick.C
	}
}

const tasksFromHere = `subscription { taskChanged(filter: {}) ` + taskSelection + ` }`

// Who comes back and goes again before it has all has left; that is nobody's fault.
func TestWhoLeavesWhileItIsBroughtUpIsCounted(t *testing.T) {
	t.Parallel()
	s, m := counted(t, taskSchema)
	from := s.Feed.Now().String()
	for range 20 {
		s.awaitSeq(t, s.task(t, resource.Create, `{"state":"a"}`).Seq)
	}
	slow := newNarrow(t, 2)
	stop, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: tasksFromHere}, from, slow)
	if failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	slow.await("there is no room for more", func() bool { return len(slow.kinds) >= 2 })
	stop()
	becomes(t, m, proctest.Numbers{
		`tidings_resumes_total{outcome="left"}`: 1, `tidings_resumes_total{outcome="replayed"}`: 0, `tidings_resumes_total{outcome="failed"}`: 0,
	})
}

// A cursor that is too old begins a snapshot for who asks for one.
func TestAResumeThatBecomesASnapshotIsCounted(t *testing.T) {
	t.Parallel()
	s, m := counted(t, taskSchema)
	s.awaitSeq(t, s.task(t, resource.Create, `{"state":"a"}`).Seq)
	now := s.Feed.Now()
	got := newMirror(t)
	s.watch(t, admin, strings.Replace(tasksFromHere, "filter: {}", "snapshot: true", 1), resource.Position{Log: "other", Seq: now.Seq}.String(), got)
	got.awaitComplete()
	becomes(t, m, proctest.Numbers{
		`tidings_resumes_total{outcome="snapshot"}`: 1, `tidings_resumes_total{outcome="expired"}`: 0, `tidings_resumes_total{outcome="replayed"}`: 0,
	})
}

// What a slow client is not told, since something newer has taken its place, is
// counted as the client is told of it.
func TestWhatIsLeftOutForSlowClientsIsCounted(t *testing.T) {
	t.Parallel()
	s, m := counted(t, strings.Replace(taskSchema, "@resource", "@resource(onSlow: LATEST)", 1))
	slow := newNarrow(t, 1)
	if _, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: tasksFromHere}, "", slow); failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	id := idOf(t, s.task(t, resource.Create, `{"state":"a"}`).Raw)
	slow.await("there is no room for more", func() bool { return len(slow.kinds) == 1 })
	proctest.Scrape(t, m).Expect(t, proctest.Numbers{`tidings_dropped_events_total{reason="latest"}`: 0})
	const changes = 30
	for i := range changes {
		s.awaitSeq(t, s.task(t, resource.Update, `{"id":%q,"state":"%d"}`, id, i).Seq)
	}
	slow.read(1 << 20)
	slow.await("all is told or left out", func() bool { return len(slow.kinds)+slow.skipped == 1+changes })
	slow.mu.Lock()
	skipped := slow.skipped
	slow.mu.Unlock()
	if skipped == 0 {
		t.Error("nothing was left out")
	}
	becomes(t, m, proctest.Numbers{`tidings_dropped_events_total{reason="latest"}`: float64(skipped)})
}

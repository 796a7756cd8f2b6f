package resource_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// clock is a time that a test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func eraser(t *testing.T, b *bus.Bus, m *schema.Model, c *clock) *resource.Eraser {
	t.Helper()
	e, err := resource.OpenEraser(t.Context(), b, m, resource.EraserOptions{After: time.Hour, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func pass(t *testing.T, e *resource.Eraser) {
	t.Helper()
	if err := e.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// messages returns all that the log holds, whatever it is.
func messages(t *testing.T, b *bus.Bus) (list []bus.Message) {
	t.Helper()
	_, err := b.Read(t.Context(), b.Subjects().Log(), 0, end(t, b), func(m bus.Message) error {
		list = append(list, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// holds reports whether any message of the log has a text in its subject, its
// headers or its body.
func holds(t *testing.T, b *bus.Bus, text string) bool {
	t.Helper()
	for _, m := range messages(t, b) {
		if strings.Contains(fmt.Sprint(m.Subject, m.Header, string(m.Data)), text) {
			return true
		}
	}
	return false
}

func user(t *testing.T, s *resourcetest.Service, verb resource.Verb, input string) resource.Record {
	t.Helper()
	return submit(t, s, resource.Command{Type: "User", Verb: verb, Who: admin, Input: json.RawMessage(input)})
}

func TestNothingIsLeftOfADeletedRecordAfterTheGrace(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	time0 := &clock{time.Now()}
	e := eraser(t, s.Bus, s.Model, time0)
	user(t, s, resource.Create, `{"id":"carol","name":"Carol Secret","email":"carol0@example.com","adminNotes":"Secret notes"}`)
	user(t, s, resource.Create, `{"id":"dave","name":"Dave","email":"dave@example.com"}`)
	var hashes []string
	for i := range 5 {
		user(t, s, resource.Update, fmt.Sprintf(`{"id":"carol","email":"carol%d@example.com","name":"Secret %d"}`, i, i))
		hashes = append(hashes, resource.Digest(fmt.Sprintf(`"carol%d@example.com"`, i)))
	}
	user(t, s, resource.Update, `{"id":"dave","name":"Dave the second"}`)
	user(t, s, resource.Delete, `{"id":"carol"}`)

	pass(t, e)
	if !holds(t, s.Bus, "Secret notes") {
		t.Fatal("erased before its time")
	}
	time0.Time = time0.Add(2 * time.Hour)
	pass(t, e)
	for _, text := range append(hashes, "Secret", "carol0@", "carol4@") {
		if holds(t, s.Bus, text) {
			t.Errorf("the log still holds %q", text)
		}
	}
	if got := messagesOf(t, s.Bus, "carol"); len(got) != 1 || string(got[0].Data) != `{"id":"carol"}` {
		t.Errorf("what is left of the record: %v", got)
	}
	if got := messagesOf(t, s.Bus, "dave"); len(got) != 2 {
		t.Errorf("%d messages of another record", len(got))
	}
	user(t, s, resource.Create, `{"id":"carol","name":"Another","email":"carol4@example.com"}`)
	if _, err := s.Client.Submit(t.Context(), resource.Command{Type: "User", Verb: resource.Update, Who: admin,
		Input: json.RawMessage(`{"id":"dave","email":"carol4@example.com"}`)}); !fault.Is(err, fault.Conflict) {
		t.Errorf("a value that was given back and taken again: %v", err)
	}
}

func messagesOf(t *testing.T, b *bus.Bus, id string) (list []bus.Message) {
	t.Helper()
	for _, m := range messages(t, b) {
		if m.Subject == b.Subjects().Record("User", id) {
			list = append(list, m)
		}
	}
	return list
}

func TestWhoComesBackOverErasedHistoryIsToldSo(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	time0 := &clock{time.Now()}
	user(t, s, resource.Create, `{"id":"carol","name":"C","email":"c@example.com"}`)
	before := user(t, s, resource.Create, `{"id":"dave","name":"D","email":"d@example.com"}`).Seq
	user(t, s, resource.Update, `{"id":"dave","name":"D2"}`)
	changed := user(t, s, resource.Update, `{"id":"carol","name":"C2"}`).Seq
	user(t, s, resource.Delete, `{"id":"carol"}`)
	time0.Time = time0.Add(2 * time.Hour)
	pass(t, eraser(t, s.Bus, s.Model, time0))
	none := func(resource.Event) error { return nil }
	if _, err := s.Feed.Replay(t.Context(), "User", "", before, none); !fault.Is(err, fault.CursorExpired) {
		t.Errorf("from before what was erased: %v", err)
	}
	if _, err := s.Feed.Replay(t.Context(), "User", "dave", before, none); err != nil {
		t.Errorf("of another record: %v", err)
	}
	var kinds []resource.Kind
	if _, err := s.Feed.Replay(t.Context(), "User", "", changed, func(e resource.Event) error {
		kinds = append(kinds, e.Kind)
		return nil
	}); err != nil || fmt.Sprint(kinds) != "[DELETED]" {
		t.Errorf("from what was erased on: %v, %v", kinds, err)
	}
}

func TestErasersShareOnePlaceInTheLog(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	s := resourcetest.On(t, server, socialDir, resource.FeedOptions{})
	other := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	time0 := &clock{time.Now().Add(2 * time.Hour)}
	one, two := eraser(t, server, s.Model, time0), eraser(t, other, s.Model, time0)
	remove := func(id string) {
		user(t, s, resource.Create, fmt.Sprintf(`{"id":%q,"name":"Secret %s","email":"%s@example.com"}`, id, id, id))
		user(t, s, resource.Delete, fmt.Sprintf(`{"id":%q}`, id))
	}
	remove("carol")
	pass(t, one)
	remove("dave")
	pass(t, two)
	if holds(t, server, "Secret carol") || !holds(t, server, "Secret dave") {
		t.Fatal("one eraser is at it, and only that one")
	}
	time0.Time = time0.Add(time.Minute) // one has died
	pass(t, two)
	if holds(t, server, "Secret dave") {
		t.Error("what one did not do was forgotten")
	}
	remove("erin")
	pass(t, one)
	if !holds(t, server, "Secret erin") {
		t.Error("the one that is back took the place of the other")
	}
}

func TestAnEraserRunsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	e, err := resource.OpenEraser(t.Context(), s.Bus, s.Model, resource.EraserOptions{After: time.Millisecond, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	resourcetest.Run(t, "eraser", e.Run)
	user(t, s, resource.Create, `{"id":"carol","name":"Secret","email":"c@example.com"}`)
	user(t, s, resource.Delete, `{"id":"carol"}`)
	until(t, func() bool { return !holds(t, s.Bus, "Secret") })
}

func TestATypeKeepsTheHistoryThatItsSchemaSays(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"a.graphql": {Data: []byte(`
		type Gauge @resource(history: 2) @auth(requires: [ADMIN]) { id: ID! bar: Int! }
		type Valve @resource @auth(requires: [ADMIN]) { id: ID! bar: Int! }`)}})
	e := eraser(t, s.Bus, s.Model, &clock{time.Now()})
	ids := map[string]string{}
	for _, typ := range []string{"Gauge", "Valve"} {
		r := submit(t, s, resource.Command{Type: typ, Verb: resource.Create, Who: admin, Input: json.RawMessage(`{"bar":0}`)})
		var record struct{ ID string }
		if err := json.Unmarshal(r.Raw, &record); err != nil {
			t.Fatal(err)
		}
		ids[typ] = record.ID
		for i := range 5 {
			submit(t, s, resource.Command{Type: typ, Verb: resource.Update, Who: admin, Input: json.RawMessage(fmt.Sprintf(`{"id":%q,"bar":%d}`, ids[typ], i+1))})
		}
	}
	pass(t, e)
	var bodies []string
	count := map[string]int{}
	for _, m := range messages(t, s.Bus) {
		typ, _, _ := s.Bus.Subjects().ParseRecord(m.Subject)
		if count[typ]++; typ == "Gauge" {
			bodies = append(bodies, string(m.Data))
		}
	}
	if count["Gauge"] != 2 || count["Valve"] != 6 || !strings.Contains(bodies[1], `"bar":5`) || !strings.Contains(bodies[0], `"bar":4`) {
		t.Errorf("%v, %v", count, bodies)
	}
}

func TestAnEraserBeginsAnewWithALogThatWasRestored(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	k, err := s.Bus.Bucket(t.Context(), bus.BucketOptions{Name: resource.EraserBucket})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Put(t.Context(), "progress", fmt.Appendf(nil, `{"log":%q,"erased":1000000,"by":"gone"}`, s.Bus.LogID()), 0); err != nil {
		t.Fatal(err)
	}
	user(t, s, resource.Create, `{"id":"carol","name":"Secret","email":"c@example.com"}`)
	user(t, s, resource.Delete, `{"id":"carol"}`)
	time0 := &clock{time.Now().Add(2 * time.Hour)}
	e := eraser(t, s.Bus, s.Model, time0)
	pass(t, e)
	time0.Time = time0.Add(time.Minute)
	pass(t, e)
	if holds(t, s.Bus, "Secret") {
		t.Error("what a backup brought back was not erased")
	}
}

func TestAnOperatorErasesARecordAtOnce(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	w := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{})
	user(t, s, resource.Create, `{"id":"carol","name":"Secret","email":"carol@example.com"}`)
	user(t, s, resource.Update, `{"id":"carol","name":"Secret 2","email":"carol2@example.com"}`)
	user(t, s, resource.Create, `{"id":"dave","name":"Dave","email":"carol@example.com"}`) // which she gave back
	erased, err := w.EraseNow(t.Context(), "User", "carol")
	if err != nil || !erased.Deleted || erased.Changes != 2 || erased.Values == 0 {
		t.Fatalf("%+v, %v", erased, err)
	}
	for _, text := range []string{"Secret", "carol2@", resource.Digest(`"carol2@example.com"`)} {
		if holds(t, s.Bus, text) {
			t.Errorf("the log still holds %q", text)
		}
	}
	if !holds(t, s.Bus, resource.Digest(`"carol@example.com"`)) {
		t.Error("a value that another one holds was given away")
	}
	again, err := w.EraseNow(t.Context(), "User", "carol")
	if err != nil || again.Deleted || again.Changes != 0 || again.Seq != erased.Seq {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := w.EraseNow(t.Context(), "User", "nobody"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a record that never was: %v", err)
	}
}

// Whoever changes a record while it is erased gives it values that are erased, too.
func TestErasingAtOnceRemovesWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	w := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{Reads: s.Client})
	for round := range 12 {
		id := made(t, s, "Tag", `{"name":"%d"}`, round)
		names, going := 1, make(chan struct{})
		var changing sync.WaitGroup
		changing.Go(func() {
			for ; ; names++ {
				err := try(t, s, "Tag", resource.Update, `{"id":%q,"name":"%d %d"}`, id, round, names)
				if fault.Is(err, fault.NotFound) {
					return
				}
				if err != nil && !fault.Is(err, fault.Conflict) {
					t.Error(err)
					return
				}
				if names == 5 {
					close(going)
				}
			}
		})
		<-going
		if _, err := w.EraseNow(t.Context(), "Tag", id); err != nil {
			t.Fatal(err)
		}
		changing.Wait()
		left := 0
		err := s.Bus.Latest(t.Context(), s.Bus.Subjects().Uniques()+"Tag.>", end(t, s.Bus), func(bus.Message) error { left++; return nil })
		if err != nil || left > 0 {
			t.Fatalf("round %d: of %d values %d are in the log: %v", round, names, left, err)
		}
	}
}

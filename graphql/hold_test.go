package graphql_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// silent is a worker that answers nothing until it may: then what comes newly.
type silent struct {
	came   chan time.Time // until when a command was good that came
	answer func() bool
	carry  *resource.Worker
}

func (w *silent) serve(t *testing.T, b *bus.Bus) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	started, over := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := b.Serve(ctx, bus.Service{Name: "worker", Concurrency: 8, Started: func() { close(started) }, Endpoints: []bus.Endpoint{{
			Name: "create", Subject: b.Subjects().Command("Post", "create"),
			Handle: func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
				sent, _ := strconv.ParseInt(m.Header.Get("Tidings-Sent"), 10, 64)
				good, _ := strconv.ParseInt(m.Header.Get("Tidings-Good"), 10, 64)
				if w.came <- time.UnixMilli(sent + good); !w.answer() {
					<-over
				}
				var cmd resource.Command
				if err := json.Unmarshal(m.Data, &cmd); err != nil {
					return nil, nil, err
				}
				cmd.Type, cmd.Verb = "Post", resource.Create
				r, err := w.carry.Carry(ctx, cmd)
				body, _ := json.Marshal(map[string]any{"record": json.RawMessage(r.Raw), "seq": r.Seq})
				return body, nil, err
			},
		}}})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { close(over); cancel(); wg.Wait() })
	<-started
}

// impatient is a service whose commands are sent again, and whose worker is w.
func impatient(t *testing.T, w *silent) *service {
	t.Helper()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	pod := resourcetest.Reader(t, bustest.Open(t, bus.Options{URL: b.URL(), Memory: true}), socialDir(t), resource.FeedOptions{})
	pod.Client.Persist(&bus.Patience{For: 10 * time.Second})
	w.carry = resource.NewWorker(b, pod.Model, resource.WorkerOptions{})
	w.serve(t, b)
	return &service{Service: pod}
}

// written is a store that shows what was written.
type written struct {
	graphql.Store
	values chan []byte
}

func (w *written) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	at, err := w.Store.Put(ctx, key, value, revision)
	if err == nil {
		w.values <- value
	}
	return at, err
}

func heldUntil(t *testing.T, entry []byte) time.Time {
	t.Helper()
	var n struct{ Until time.Time }
	if err := json.NewDecoder(bytes.NewReader(entry)).Decode(&n); err != nil {
		t.Fatal(err)
	}
	return n.Until
}

// Of a process that dies nothing is carried out any more when its key is another's:
// that one may have been told no.
func TestWhatIsSentUnderAKeyIsGoodForNoLongerThanTheKeyIsHeld(t *testing.T) {
	t.Parallel()
	w := &silent{came: make(chan time.Time, 20), answer: func() bool { return false }}
	s := impatient(t, w)
	store := &dying{Store: answers(t, s.Bus)}
	store.writes.Store(1)
	claims := &written{Store: store, values: make(chan []byte, 20)}
	dies := s.with(t, graphql.Options{Timeout: 300 * time.Millisecond, Patience: 10 * time.Second, Answers: claims})
	dies.engine.Execute(t.Context(), ada, post("T", "k"))
	held := heldUntil(t, <-claims.values)
	if len(w.came) == 0 {
		t.Fatal("nothing was sent")
	}
	for range len(w.came) {
		if good := <-w.came; good.After(held) {
			t.Errorf("a command is good for %s after the key may be taken over", good.Sub(held))
		}
	}
}

// A process that lives keeps its key for as long as it waits for workers.
func TestAKeyIsHeldAsLongAsItsMutationWaits(t *testing.T) {
	t.Parallel()
	var commands atomic.Int32
	w := &silent{came: make(chan time.Time, 20), answer: func() bool { return commands.Add(1) > 1 }}
	s := impatient(t, w)
	waits := s.with(t, graphql.Options{Timeout: 300 * time.Millisecond, Patience: 10 * time.Second, Answers: answers(t, s.Bus)})
	ran := make(chan graphql.Response, 1)
	go func() { ran <- waits.engine.Execute(t.Context(), ada, post("T", "k")) }()
	other := s.with(t, graphql.Options{Timeout: 300 * time.Millisecond, Patience: 10 * time.Second, Answers: answers(t, s.Bus)})
	<-w.came // it is sent again when the first claim would be over
	if r := other.engine.Execute(t.Context(), ada, post("T", "k")); r.Code != fault.Timeout && !r.Replayed {
		t.Errorf("the other process has sent it, too: %s", r.Body)
	}
	if r := <-ran; !strings.Contains(string(r.Body), `"title":"T"`) || s.end(t) != 1 {
		t.Errorf("%s; the log ends at %d", r.Body, s.end(t))
	}
}

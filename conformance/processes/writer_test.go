//go:build conformance

package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// ledger is what the writers were told: the text of every attempt, and the
// record of those that were acknowledged.
type ledger struct {
	mu       sync.Mutex
	attempts map[string]bool
	acked    map[string]string    // text to id; no id: the writer was not told
	at       map[string]time.Time // when the text was acknowledged
	failures map[string]int       // why attempts failed
	fault    time.Duration        // for how long a fault may hold writes back
}

func newLedger() *ledger {
	return &ledger{attempts: map[string]bool{}, acked: map[string]string{}, at: map[string]time.Time{}, failures: map[string]int{}}
}

// expect says for how long a fault will hold writes back that has begun, or will.
func (l *ledger) expect(fault time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

// patience is how long a writer tries: what a fault lasts does not count.
func (l *ledger) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return patience + l.fault
}

func (l *ledger) attempt(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts[text] = true
}

func (l *ledger) ack(text, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[text] = id
	l.at[text] = time.Now()
}

func (l *ledger) failed(err error) {
	reason := "connection"
	if refused, ok := errors.AsType[graphQLError](err); ok {
		reason = refused.Extensions.Code
	} else if errors.Is(err, context.DeadlineExceeded) {
		reason = "no answer in time"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures[reason]++
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// check compares what was acknowledged with the events of the log.
func (l *ledger) check(t testing.TB, events []event) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	times := map[string]int{}
	ids := map[string]string{}
	for _, e := range events {
		times[e.Text]++
		ids[e.Text] = e.ID
		if !l.attempts[e.Text] && e.Text != lastText {
			t.Errorf("an event that nobody caused: %+v", e)
		}
	}
	for text, id := range l.acked {
		if times[text] != 1 || ids[text] != id {
			t.Errorf("acknowledged for record %s, but %d events (record %q): %s", id, times[text], ids[text], text)
		}
	}
	for text, n := range times {
		if n > 1 {
			t.Errorf("one attempt caused %d events: %s", n, text)
		}
	}
	t.Logf("%d attempts, %d acknowledged, %d events; failures: %v", len(l.attempts), len(l.acked), len(events), l.failures)
}

// final is the state that the events lead to.
func final(events []event) map[string]string {
	state := map[string]string{}
	for _, e := range events {
		state[e.ID] = e.Text
		if e.Kind == "DELETED" {
			delete(state, e.ID)
		}
	}
	return state
}

// checkState waits until an api shows exactly what the events lead to.
func checkState(t testing.TB, a *api, token, kind, textField string, want map[string]string) {
	t.Helper()
	poll(t, 15*time.Second, fmt.Sprintf("%s shows the %d %s of the log", a.name, len(want), kind), func() error {
		have, err := list(t.Context(), a.url, token, kind, "id "+textField)
		if err != nil {
			return err
		}
		for id, text := range want {
			if r, ok := have[id]; !ok || r.Title+r.Name != text {
				return fmt.Errorf("%s is %q, want %q", id, r.Title+r.Name, text)
			}
		}
		for id, r := range have {
			if _, ok := want[id]; !ok {
				return fmt.Errorf("nobody was told of %s %q", id, r.Title+r.Name)
			}
		}
		return nil
	})
}

const (
	// maxUpdates bounds the changes of one post: below the history that the log
	// keeps of each record, so that every cursor of the load can be resumed.
	maxUpdates = 20
	// maxWrites bounds what one writer does.
	maxWrites = 20_000
	// patience is how long a writer tries until its write is acknowledged.
	patience = 30 * time.Second
)

// writers write until they are stopped.
type writers struct {
	ledger *ledger
	stop   context.CancelFunc
	wg     sync.WaitGroup
	errs   chan error
}

// launch starts the writers. Each returns soon after its context has ended;
// its error is one that no writer should ever meet.
func launch(t testing.TB, l *ledger, list ...func(context.Context) error) *writers {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &writers{ledger: l, stop: stop, errs: make(chan error, len(list))}
	for _, run := range list {
		w.wg.Go(func() { w.errs <- run(ctx) })
	}
	t.Cleanup(func() { stop(); w.wg.Wait() })
	return w
}

// progress waits for n more acknowledged writes.
func (w *writers) progress(t testing.TB, n int) {
	t.Helper()
	want := w.ledger.count() + n
	poll(t, patience, fmt.Sprintf("%d writes are acknowledged", want), func() error {
		if have := w.ledger.count(); have < want {
			return fmt.Errorf("%d are", have)
		}
		return nil
	})
}

// end stops the writers after the request that each is at.
func (w *writers) end(t testing.TB) {
	t.Helper()
	w.stop()
	w.wg.Wait()
	close(w.errs)
	for err := range w.errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// writer creates posts and updates them. It sends one request after the other,
// each to the next api, and repeats what was not acknowledged.
type writer struct {
	name   string
	token  string
	apis   []*api
	ledger *ledger
	turn   int

	attempts int
	post     string // id of the post that it changes
	updates  int
}

// write starts one writer for each token.
func write(t testing.TB, tokens []string, apis []*api) *writers {
	t.Helper()
	l := newLedger()
	var list []func(context.Context) error
	for i, token := range tokens {
		w := &writer{name: fmt.Sprintf("w%d", i), token: token, apis: apis, ledger: l, turn: i}
		list = append(list, func(ctx context.Context) error { return paced(ctx, w.write) })
	}
	return launch(t, l, list...)
}

// paced calls write again and again, at a pace that leaves the machine some
// room, until ctx ends.
func paced(ctx context.Context, write func(context.Context) error) error {
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for range maxWrites {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return nil
		}
		if err := write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// write tries until one change is acknowledged.
func (w *writer) write(ctx context.Context) error { return w.insist(ctx, w.try) }

// insist tries until it succeeds, or ctx has ended.
func (w *writer) insist(ctx context.Context, try func() error) error {
	began := time.Now()
	for {
		err := try()
		if err == nil || ctx.Err() != nil {
			return nil
		}
		w.ledger.failed(err)
		if refused, ok := errors.AsType[graphQLError](err); ok && !passing(refused) {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if most := w.ledger.patience(); time.Since(began) > most {
			return fmt.Errorf("%s: nothing acknowledged for %s: %w", w.name, most, err)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// passing tells the errors after which trying again is right.
func passing(e graphQLError) bool {
	return e.Extensions.Code == "UNAVAILABLE" || e.Extensions.Code == "TIMEOUT"
}

const (
	createPost = `mutation ($input: CreatePostInput!) { done: createPost(input: $input) { id title } }`
	updatePost = `mutation ($input: UpdatePostInput!) { done: updatePost(input: $input) { id title } }`
)

// try makes one attempt. It is not cancelled when the load ends: what it was
// told must be known.
func (w *writer) try() error {
	w.attempts++
	text := fmt.Sprintf("%s attempt %d", w.name, w.attempts)
	c := call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}
	if w.post != "" {
		c = call{Query: updatePost, Variables: map[string]any{"input": map[string]any{"id": w.post, "title": text}}}
	}
	w.ledger.attempt(text)
	w.turn++
	id, err := mutate(context.Background(), w.apis[w.turn%len(w.apis)], w.token, c, text)
	if err != nil {
		return err
	}
	w.ledger.ack(text, id)
	if w.updates++; w.updates >= maxUpdates {
		id, w.updates = "", 0
	}
	w.post = id
	return nil
}

// mutate sends a mutation whose answer must be the record with the given text.
func mutate(ctx context.Context, a *api, token string, c call, text string) (id string, err error) {
	data, err := post(ctx, a.url, token, c)
	if err != nil {
		return "", err
	}
	var answer struct {
		Done record `json:"done"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", err
	}
	if answer.Done.ID == "" || answer.Done.Title+answer.Done.Name != text {
		return "", fmt.Errorf("wrote %q, and the answer was %s", text, data)
	}
	return answer.Done.ID, nil
}

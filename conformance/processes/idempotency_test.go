//go:build conformance

package processes

import (
	"context"
	"fmt"
	"testing"
)

// keyed is a writer that sends each mutation with an idempotency key, and again
// with the same key until it is acknowledged, whatever it was told.
type keyed struct {
	writer
	written int
}

// write sends one mutation.
func (k *keyed) write(ctx context.Context) error {
	k.written++
	text := fmt.Sprintf("%s keyed %d", k.name, k.written)
	c := call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}
	if k.post != "" {
		c = call{Query: updatePost, Variables: map[string]any{"input": map[string]any{"id": k.post, "title": text}}}
	}
	c.Extensions = map[string]any{"idempotencyKey": text}
	k.ledger.attempt(text)
	var id string
	err := k.insist(context.WithoutCancel(ctx), func() (err error) { // to the end: what becomes of it must be known
		k.turn++
		id, err = mutate(context.Background(), k.apis[k.turn%len(k.apis)], k.token, c, text)
		return err
	})
	if err != nil {
		return err
	}
	k.ledger.ack(text, id)
	if k.post = id; k.written%2 == 0 {
		k.post = ""
	}
	return nil
}

// A mutation that is sent again until it is acknowledged has happened once,
// whichever processes were killed meanwhile.
func TestWhatHasAKeyIsWrittenOnceWhileAPIsAndWorkersAreKilled(t *testing.T) {
	c := startCluster(t)
	l := newLedger()
	var list []func(context.Context) error
	for i, token := range c.authors(t, 8) {
		k := &keyed{writer: writer{name: fmt.Sprintf("k%d", i), token: token, apis: c.apis, ledger: l, turn: i}}
		list = append(list, func(ctx context.Context) error { return paced(ctx, k.write) })
	}
	w := launch(t, l, list...)
	w.progress(t, 50)
	for i := range 2 {
		c.apis[i].kill(t)
		w.progress(t, 30)
		c.apis[i].restart(t)
		c.workers[i].kill(t)
		w.progress(t, 30)
		c.workers[i].restart(t)
	}
	c.nats.kill(t)
	c.nats.restart(t)
	w.progress(t, 50)
	w.end(t)
	times := map[string]int{}
	for _, e := range c.readLog(t) {
		times[e.Text]++
	}
	for text, n := range times {
		if n != 1 {
			t.Errorf("%q was written %d times", text, n)
		}
	}
	for text := range l.attempts {
		if times[text] == 0 || l.acked[text] == "" {
			t.Errorf("%q is there %d times, acknowledged as %q", text, times[text], l.acked[text])
		}
	}
	t.Logf("%d acknowledged after these failures: %v", l.count(), l.failures)
}

//go:build conformance

package processes

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// A rolling restart of three apis under many subscribers: each gets every
// event once and in order, on whichever process it is by then, and those whose
// process stops come back spread over the window in which it lets them go.
func TestARollingRestartLosesAndDoublesNothing(t *testing.T) {
	const (
		many   = 2000
		window = 4 * time.Second
		parts  = 4
	)
	nats, bus := startNATS(t)
	c := &cluster{data: t.TempDir(), nats: nats, bus: bus}
	env := []string{"TIDINGS_NATS_URL=" + bus}
	c.workers = []*process{startWorker(t, "worker", c.data, env)}
	for i := range 3 {
		c.apis = append(c.apis, startAPI(t, fmt.Sprintf("api %d", i+1), c.data, env, "--drain-delay", "0s", "--drain-window", window.String()))
	}
	author := c.authors(t, 1)[0]
	w := &steadyWriter{apis: c.apis, token: author, ledger: newLedger()}
	a := gather(t, many, anybody, c.apis, postChanges, func() { w.write(t.Context(), textBefore) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writing sync.WaitGroup
	writing.Go(func() { w.run(ctx) })
	poll(t, time.Minute, "all have heard something", func() error {
		for _, s := range a.all {
			if s.count() == 0 {
				return fmt.Errorf("%s has heard nothing", s.name)
			}
		}
		return nil
	})
	for _, p := range c.apis {
		began := time.Now()
		p.terminate(t)
		if code := p.exit(t, window+20*time.Second); code != 0 {
			t.Errorf("%s has ended with status %d", p.name, code)
		}
		spread := a.left(began, window, parts)
		p.restart(t)
		t.Logf("%s let go in each quarter of its window: %v", p.name, spread)
		all := 0
		for _, n := range spread {
			all += n
		}
		for i, n := range spread {
			if n*10 < all || all == 0 {
				t.Errorf("%s let %d of %d go in quarter %d of its window", p.name, n, all, i+1)
			}
		}
	}
	cancel()
	writing.Wait()
	poll(t, patience, "the last post is made", func() error { return w.write(t.Context(), lastText) })
	w.ledger.check(t, a.wait(t, time.Minute))
	if n := a.resumed(); n < many {
		t.Errorf("%d subscribers have resumed %d times; each was on a process that has stopped", many, n)
	}
}

// left counts the connections that ended since a process was told to stop, in
// equal parts of its window; those after it count to the last.
func (a *audience) left(began time.Time, window time.Duration, parts int) []int {
	spread := make([]int, parts)
	for _, s := range a.all {
		s.mu.Lock()
		for _, at := range s.ended {
			if i := int(at.Sub(began) * time.Duration(parts) / window); at.After(began) {
				spread[min(i, parts-1)]++
			}
		}
		s.mu.Unlock()
	}
	return spread
}

// steadyWriter makes a few posts a second, by each api in its turn.
type steadyWriter struct {
	apis   []*api
	token  string
	ledger *ledger
	n      int
}

func (w *steadyWriter) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = w.write(ctx, "") // what was not acknowledged may have been made all the same
		pause(ctx, 250*time.Millisecond)
	}
}

// write makes one post; an empty text is replaced by one of its own.
func (w *steadyWriter) write(ctx context.Context, text string) error {
	w.n++
	if text == "" {
		text = fmt.Sprintf("post %d", w.n)
	}
	w.ledger.attempt(text)
	c := call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}
	id, err := mutate(ctx, w.apis[w.n%len(w.apis)], w.token, c, text)
	switch {
	case err != nil:
		w.ledger.failed(err)
	case text != textBefore: // which the subscribers begin after
		w.ledger.ack(text, id)
	}
	return err
}

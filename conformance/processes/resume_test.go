//go:build conformance

package processes

import (
	"testing"
	"time"
)

// In each of these tests writers write without pause and an audience listens,
// while processes die. Afterwards every subscriber must have every
// acknowledged write, once, in the one order of the log, and every api must
// show the state that the events lead to.

const listeners = 24

// load is a cluster under load.
type load struct {
	*cluster
	writers  *writers
	audience *audience
	before   map[string]string // posts from before the first event
}

func startLoad(t testing.TB, c *cluster) *load {
	t.Helper()
	l := &load{cluster: c, before: map[string]string{}}
	tokens := c.authors(t, 10)
	l.audience = gather(t, listeners, anybody, c.apis, postChanges, func() {
		l.before[l.say(t, tokens[0], textBefore)] = textBefore
	})
	l.writers = write(t, tokens, c.apis)
	l.writers.progress(t, 50)
	return l
}

// say creates a post. It tries until it is acknowledged.
func (l *load) say(t testing.TB, token, text string) (id string) {
	t.Helper()
	poll(t, patience, "a post is created", func() (err error) {
		c := call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}
		id, err = mutate(t.Context(), l.apis[0], token, c, text)
		return err
	})
	return id
}

// finish ends the load and counts.
func (l *load) finish(t testing.TB) {
	t.Helper()
	l.writers.progress(t, 50)
	l.writers.end(t)
	l.say(t, token(t, l.data, "author0", "USER"), lastText)
	events := l.audience.wait(t, 30*time.Second)
	l.writers.ledger.check(t, events)
	l.checkLog(t, events)
	want := final(events)
	for id, text := range l.before {
		want[id] = text
	}
	for _, a := range l.apis {
		checkState(t, a, anybody, "posts", "title", want)
	}
}

func TestNothingIsMissedWhileAPIsAndWorkersAreKilled(t *testing.T) {
	c := startCluster(t)
	l := startLoad(t, c)

	c.apis[0].kill(t)
	l.writers.progress(t, 100) // by the other one
	c.apis[0].restart(t)
	l.writers.progress(t, 50)

	c.workers[0].kill(t)
	l.writers.progress(t, 100)
	c.workers[0].restart(t)

	c.apis[1].kill(t)
	c.workers[1].kill(t)
	l.writers.progress(t, 50) // by the two that were restarted
	c.workers[1].restart(t)
	c.apis[1].restart(t)

	l.finish(t)
	if n := l.audience.resumed(); n < listeners {
		t.Errorf("%d subscribers resumed %d times; the kills have missed them", listeners, n)
	}
}

func TestNothingIsMissedWhileTheBusIsKilled(t *testing.T) {
	c := startCluster(t)
	l := startLoad(t, c)
	for range 2 {
		c.nats.kill(t)
		c.nats.restart(t)
		l.writers.progress(t, 100)
	}
	for _, p := range []*process{c.apis[0].process, c.apis[1].process, c.workers[0], c.workers[1]} {
		p.mustRun(t)
		p.waitReady(t)
	}
	l.finish(t)
}

// A worker that is told to stop finishes what it has taken, so that nobody
// notices.
func TestNoWriteFailsWhileWorkersAreReplaced(t *testing.T) {
	c := startCluster(t)
	l := startLoad(t, c)
	for _, w := range c.workers {
		w.terminate(t)
		if code := w.exit(t, 10*time.Second); code != 0 {
			t.Errorf("%s ended with status %d", w.name, code)
		}
		l.writers.progress(t, 50)
		w.restart(t)
	}
	l.finish(t)
	if f := l.writers.ledger.failures; len(f) > 0 {
		t.Errorf("writes have failed: %v", f)
	}
}

//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A subscriber whose events cannot all be had any more is told so, in whatever
// way it comes: it must never be given some of them in silence.

func TestACursorBeforeTrimmedHistoryIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := startAPI(t, "api", data, nil, "--history", "4")
	author := token(t, data, "author", "USER")
	var id string
	say := func(c call, text string) {
		t.Helper()
		var err error
		if id, err = mutate(t.Context(), a, author, c, text); err != nil {
			t.Fatal(err)
		}
	}
	update := func(text string) {
		t.Helper()
		say(call{Query: updatePost, Variables: map[string]any{"input": map[string]any{"id": id, "title": text}}}, text)
	}
	old := cursorOf(t, a, anybody, postChanges, func() {
		say(call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": "version 0"}}}, "version 0")
	})
	for i := range 6 {
		update(fmt.Sprintf("version %d", i+1))
	}
	recent := cursorOf(t, a, anybody, postChanges, func() { update("version 7") })
	update(lastText)

	a.kill(t) // what it keeps in memory would still do
	a.restart(t)
	refuses(t, a, old)
	for i := range transports {
		s := &subscriber{name: "latecomer", apis: []*api{a}, what: postChanges, after: recent, via: i}
		if err := s.run(t.Context()); err != nil || len(s.events) != 1 {
			t.Errorf("after a cursor whose events are kept: %+v, %v", s.events, err)
		}
	}
}

func TestACursorOfALogThatIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	old := cursorOf(t, c.apis[0], anybody, postChanges, func() { c.mustWrite(t, "in the first log") })

	c.nats.kill(t)
	if err := os.RemoveAll(c.store()); err != nil {
		t.Fatal(err)
	}
	c.nats.restart(t)
	c.replaced(t)
	id := c.mustWrite(t, "in the second log")
	for _, a := range c.apis {
		refuses(t, a, old)
		checkState(t, a, anybody, "posts", "title", map[string]string{id: "in the second log"})
	}
}

// A server that was not asked to sync each write loses its last seconds with
// the power, or a backup is put back. What the views have seen of them must go.
func TestAViewForgetsWhatTheLogHasLost(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	kept := c.mustWrite(t, "kept")
	c.nats.kill(t)
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(c.store())); err != nil {
		t.Fatal(err)
	}
	c.nats.restart(t)
	var lost string
	poll(t, 15*time.Second, "a post is created", func() (err error) {
		lost, err = c.tryWrite(t, "lost")
		return err
	})
	for _, a := range c.apis {
		checkState(t, a, anybody, "posts", "title", map[string]string{kept: "kept", lost: "lost"})
	}
	c.workersRead(t, c.apis[0].process) // whoever has not read it cannot miss it

	c.nats.kill(t)
	if err := os.RemoveAll(c.store()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(c.store(), os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	c.nats.restart(t)
	c.replaced(t)
	later := c.mustWrite(t, "later")
	for _, a := range c.apis {
		checkState(t, a, anybody, "posts", "title", map[string]string{kept: "kept", later: "later"})
	}
}

// store is the directory of the nats-server.
func (c *cluster) store() string { return c.nats.args[len(c.nats.args)-1] }

// replaced waits until every process has ended because the log is not the one
// that it has read, and starts them again, as their operator's tools do. None
// may go on as if nothing had happened.
func (c *cluster) replaced(t testing.TB) {
	t.Helper()
	all := []*process{c.apis[0].process, c.apis[1].process, c.workers[0], c.workers[1]}
	for _, p := range all {
		if code := p.exit(t, 20*time.Second); code != 1 {
			t.Errorf("%s ended with status %d", p.name, code)
		}
		if !strings.Contains(p.output(t), "the log was replaced") {
			t.Errorf("%s does not say why it ended", p.name)
		}
	}
	for _, p := range all {
		p.restart(t)
	}
}

// workersRead waits until the views of the workers have come as far as that of
// another process.
func (c *cluster) workersRead(t testing.TB, other *process) {
	t.Helper()
	want := viewPosition(t, other)
	for _, w := range c.workers {
		poll(t, 15*time.Second, w.name+" has read the log", func() error {
			if at := viewPosition(t, w); at < want {
				return fmt.Errorf("it is at %d, want %d", at, want)
			}
			return nil
		})
	}
}

// viewPosition is how far the view of a process has come, as its metrics say.
func viewPosition(t testing.TB, p *process) int {
	t.Helper()
	_, text := fetch(t, p.adminPort()+"/metrics", anybody, "")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "tidings_view_position "); ok {
			at, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(at)
		}
	}
	t.Fatalf("%s does not say how far its view has come", p.name)
	return 0
}

func (c *cluster) mustWrite(t testing.TB, text string) (id string) {
	t.Helper()
	id, err := c.tryWrite(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (c *cluster) tryWrite(t testing.TB, text string) (id string, err error) {
	t.Helper()
	create := call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}
	return mutate(t.Context(), c.apis[0], c.authors(t, 1)[0], create, text)
}

// refuses tries to resume after the cursor over every transport.
func refuses(t testing.TB, a *api, cursor string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i, open := range transports {
		st, err := open(ctx, a.url, anybody, postChanges.resume(cursor))
		if err != nil {
			t.Errorf("transport %d of %s: %v", i, a.name, err)
			continue
		}
		r, err := st.next()
		if err == nil {
			err = r.err()
		}
		if refused, ok := errors.AsType[graphQLError](err); !ok || refused.Extensions.Code != "CURSOR_EXPIRED" {
			t.Errorf("transport %d of %s: a cursor that cannot be resumed got %+v (%v)", i, a.name, r, err)
		}
		st.close()
	}
}

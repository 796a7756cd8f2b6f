//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	old := cursorOf(t, a, "", postChanges, func() {
		say(call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": "version 0"}}}, "version 0")
	})
	for i := range 6 {
		update(fmt.Sprintf("version %d", i+1))
	}
	recent := cursorOf(t, a, "", postChanges, func() { update("version 7") })
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
	author := c.authors(t, 1)[0]
	write := func(text string) {
		t.Helper()
		if _, err := mutate(t.Context(), c.apis[0], author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}, text); err != nil {
			t.Fatal(err)
		}
	}
	old := cursorOf(t, c.apis[0], "", postChanges, func() { write("in the first log") })

	c.nats.kill(t)
	if err := os.RemoveAll(c.nats.args[len(c.nats.args)-1]); err != nil {
		t.Fatal(err)
	}
	c.nats.restart(t)
	all := []*process{c.apis[0].process, c.apis[1].process, c.workers[0], c.workers[1]}
	for _, p := range all { // none may go on as if nothing had happened
		if code := p.exit(t, 20*time.Second); code != 1 {
			t.Errorf("%s ended with status %d", p.name, code)
		}
		if out := p.output(t); !strings.Contains(out, "log was replaced") && !strings.Contains(out, "stream was deleted") {
			t.Errorf("%s does not say why it ended", p.name)
		}
	}
	for _, p := range all {
		p.restart(t)
	}
	write("in the second log")
	for _, a := range c.apis {
		refuses(t, a, old)
		poll(t, 10*time.Second, "only the second log is shown", func() error {
			posts, err := list(t.Context(), a.url, "", "posts", "id title")
			if err == nil && len(posts) != 1 {
				err = fmt.Errorf("%s shows %v", a.name, posts)
			}
			return err
		})
	}
}

// refuses tries to resume after the cursor over every transport.
func refuses(t testing.TB, a *api, cursor string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i, open := range transports {
		st, err := open(ctx, a.url, "", postChanges.resume(cursor))
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

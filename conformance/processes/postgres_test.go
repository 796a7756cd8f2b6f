//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidings/view/viewtest"
)

// startShared runs a cluster whose processes share one view.
func startShared(t testing.TB, db *viewtest.Server) *cluster {
	t.Helper()
	c := &cluster{data: t.TempDir()}
	c.nats, c.bus = startNATS(t)
	env := []string{"TIDINGS_NATS_URL=" + c.bus, "TIDINGS_VIEW_URL=" + db.URL}
	c.workers = []*process{startWorker(t, "worker 1", c.data, env), startWorker(t, "worker 2", c.data, env)}
	c.apis = []*api{startAPI(t, "api 1", c.data, env), startAPI(t, "api 2", c.data, env)}
	return c
}

// fills reports whether a worker is the one that fills the view since it began
// with the output that it had.
func fills(t testing.TB, p *process) bool {
	t.Helper()
	out := p.output(t)
	return strings.LastIndex(out, "fills the shared view") < strings.LastIndex(out, "the shared view is filled by this process")
}

// projecting returns the worker that fills the view, and the other one.
func (c *cluster) projecting(t testing.TB) (one, other *process) {
	t.Helper()
	poll(t, time.Minute, "a worker fills the view", func() error {
		for i, w := range c.workers {
			if fills(t, w) {
				one, other = w, c.workers[1-i]
				return nil
			}
		}
		return errors.New("none does")
	})
	return one, other
}

// The worker that fills the view dies, hangs and is started again, and so does
// PostgreSQL: what was acknowledged is shown, once, and every subscriber hears
// all of it in order.
func TestASharedViewOutlivesWhatIsKilled(t *testing.T) {
	t.Parallel()
	db := viewtest.NewServer(t)
	c := startShared(t, db)
	l := startLoad(t, c)
	l.writers.progress(t, 20)

	for range 2 {
		one, other := c.projecting(t)
		one.kill(t)
		poll(t, time.Minute, "the other one fills the view", func() error {
			if !fills(t, other) {
				return errors.New("it does not")
			}
			return nil
		})
		l.writers.progress(t, 20)
		one.restart(t)
	}

	db.Stop(t)
	pause(t.Context(), 500*time.Millisecond)
	db.Start(t)
	l.writers.progress(t, 20)
	db.Kill(t)
	db.Start(t)
	l.writers.progress(t, 20)
	l.finish(t)
}

// A worker that hangs holds its lock: it is taken away.
func TestAWorkerThatHangsLetsAnotherFillTheSharedView(t *testing.T) {
	t.Parallel()
	db := viewtest.NewServer(t)
	c := startShared(t, db)
	author := c.authors(t, 1)[0]
	one, other := c.projecting(t)
	cmd, _ := one.running()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	poll(t, time.Minute, "the other one fills the view", func() error {
		if !fills(t, other) {
			return errors.New("it does not")
		}
		return nil
	})
	say := func(text string) {
		t.Helper()
		var id string
		poll(t, time.Minute, "a post is made", func() (err error) {
			id, err = mutate(t.Context(), c.apis[0], author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}, text)
			return err
		})
		poll(t, 30*time.Second, "and shown", func() error {
			have, err := list(t.Context(), c.apis[1].url, author, "posts", "id title")
			if err == nil && have[id].Title != text {
				err = fmt.Errorf("it is not: %v", have)
			}
			return err
		})
	}
	say("while one hangs")
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	say("when it goes on")
	poll(t, 30*time.Second, "it stands by", func() error {
		if fills(t, one) {
			return errors.New("it does not")
		}
		return nil
	})
}

// While the database is away mutations go on, queries say that they cannot be
// answered, and readiness says why. Nothing is restarted.
func TestWritesGoOnWhileTheSharedViewIsAway(t *testing.T) {
	t.Parallel()
	db := viewtest.NewServer(t)
	c := startShared(t, db)
	author := c.authors(t, 1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	listener, err := dialSocket(ctx, c.apis[1].url, anybody, postChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.close()
	if err := listener.(*socket).stands(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	say := func(text string) {
		t.Helper()
		id, err := mutate(ctx, c.apis[0], author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}, text)
		if err != nil {
			t.Fatal(err)
		}
		want[id] = text
	}
	say("with the database")
	db.Stop(t)
	poll(t, time.Minute, "a query says so", func() error {
		_, err := list(ctx, c.apis[0].url, author, "posts", "id title")
		if refused, ok := errors.AsType[graphQLError](err); ok && refused.Extensions.Code == "UNAVAILABLE" {
			return nil
		}
		return fmt.Errorf("it was answered with %w", err)
	})
	poll(t, time.Minute, "api 1 is not ready", func() error {
		resp, err := http.Get(c.apis[0].ready)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return errors.New("it is")
		}
		return nil
	})
	db.Start(t)
	for _, a := range c.apis {
		a.waitReady(t)
	}
	say("with the database again")
	for range 2 {
		r, err := listener.next()
		if err != nil {
			t.Fatal(err)
		}
		if e, err := readEvent(r); err != nil || want[e.ID] != e.Text {
			t.Errorf("the listener got %+v (%v)", e, err)
		}
	}
	for _, a := range c.apis {
		checkState(t, a, anybody, "posts", "title", want)
	}
}

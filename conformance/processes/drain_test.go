//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// An api that is told to stop sends its subscribers elsewhere, not all at once:
// sockets are closed with 1012, event streams end as a whole, no operation is completed,
// and the process ends well and in time.
func TestAnAPIThatIsToldToStopSendsItsSubscribersElsewhere(t *testing.T) {
	t.Parallel()
	const window = 1500 * time.Millisecond
	a := startAPI(t, "api", t.TempDir(), []string{"TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32)},
		"--dev=false", "--drain-delay", "0s", "--drain-window", window.String())
	const each = 8
	dials := append(slices.Clone(transports), dialLegacy)
	all := each * len(dials)
	ends := make(chan error, all)
	listen := func(st stream) {
		for {
			if _, err := st.next(); err != nil {
				ends <- err
				return
			}
		}
	}
	for _, open := range dials {
		for range each {
			st, err := open(t.Context(), a.url, anybody, postChanges)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(st.close)
			go listen(st)
		}
	}

	began := time.Now()
	a.terminate(t)
	closed, ended := 0, 0
	late := time.After(window + 5*time.Second)
	for range all {
		select {
		case err := <-ends:
			switch c, _ := errors.AsType[*websocket.CloseError](err); {
			case c != nil && c.Code == websocket.CloseServiceRestart:
				closed++
			case err == io.EOF:
				ended++
			default:
				t.Errorf("a stream ended with: %v", err)
			}
		case <-late:
			t.Fatalf("after %s, %d sockets and %d event streams of %d have ended", time.Since(began), closed, ended, all)
		}
	}
	if closed != 3*each || ended != 2*each {
		t.Errorf("%d sockets closed with 1012, %d event streams ended well; want %d and %d", closed, ended, 3*each, 2*each)
	}
	if code := a.exit(t, 5*time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	// The window, and a second for what is no drain: stopping the bus and the view.
	if took := time.Since(began); took < window/2 || took > window+time.Second {
		t.Errorf("the process took %s to end; the connections are to be closed evenly over %s", took, window)
	}
}

// Who cannot wait sends a second signal: the process ends at once, says nothing
// to its subscribers, and nobody misses anything all the same.
func TestASecondSignalEndsAnAPIAtOnce(t *testing.T) {
	t.Parallel()
	const window, each = time.Hour, 3
	c := twoAPIs(t, "--drain-delay", "0s", "--drain-window", window.String())
	one := c.apis[0]
	dials := append(slices.Clone(transports), dialLegacy)
	m := move(t, c, c.apis, dials, each*len(dials))
	one.terminate(t)
	poll(t, 10*time.Second, "it drains", func() error {
		if status, body := fetch(t, one.ready, anybody, ""); status != http.StatusServiceUnavailable {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	one.mustRun(t)
	one.terminate(t)
	if code := one.exit(t, 10*time.Second); code != 1 {
		t.Errorf("exit status %d", code)
	}
	m.finish(t)
}

// Clients that speak the old subprotocol are sent elsewhere like others.
func TestOldClientsOfAnAPIThatIsToldToStopGoElsewhere(t *testing.T) {
	t.Parallel()
	const window = time.Second
	c := twoAPIs(t, "--drain-delay", "0s", "--drain-window", window.String())
	m := move(t, c, c.apis, []dial{dialLegacy}, 12)
	c.apis[0].terminate(t)
	if code := c.apis[0].exit(t, window+10*time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	m.finish(t)
}

// twoAPIs runs a worker and two apis beside a nats-server.
func twoAPIs(t testing.TB, more ...string) *cluster {
	t.Helper()
	c := &cluster{data: t.TempDir()}
	c.nats, c.bus = startNATS(t)
	env := []string{"TIDINGS_NATS_URL=" + c.bus}
	c.workers = []*process{startWorker(t, "worker", c.data, env)}
	for i := range 2 {
		c.apis = append(c.apis, startAPI(t, fmt.Sprintf("api %d", i+1), c.data, env, more...))
	}
	return c
}

// moving are subscribers that will have to leave the first of two apis for the
// second one, by way of which posts are made meanwhile.
type moving struct {
	*audience
	steady  *steadyWriter
	writers *writers
}

// move subscribes through what leads to the apis, and returns when each has
// heard something.
func move(t testing.TB, c *cluster, through []*api, dials []dial, many int) *moving {
	t.Helper()
	author := c.authors(t, 1)[0]
	m := &moving{
		audience: &audience{errs: make(chan error, many)},
		steady:   &steadyWriter{apis: c.apis[1:2], token: author, ledger: newLedger()},
	}
	begin := cursorOf(t, c.apis[1], anybody, postChanges, func() { _ = m.steady.write(t.Context(), textBefore) })
	for i := range many {
		s := &subscriber{name: fmt.Sprintf("subscriber %d", i), token: author, apis: through, what: postChanges, after: begin, dials: dials, via: i}
		m.all = append(m.all, s)
		m.wg.Go(func() { m.errs <- s.run(t.Context()) })
	}
	m.writers = launch(t, m.steady.ledger, func(ctx context.Context) error { m.steady.run(ctx); return nil })
	poll(t, 20*time.Second, "all have heard something", func() error {
		for _, s := range m.all {
			if s.count() == 0 {
				return errors.New(s.name + " has heard nothing")
			}
		}
		return nil
	})
	return m
}

// finish ends the writing, and counts.
func (m *moving) finish(t testing.TB) {
	t.Helper()
	m.writers.progress(t, 2)
	m.writers.end(t)
	poll(t, patience, "the last post is made", func() error { return m.steady.write(t.Context(), lastText) })
	m.steady.ledger.check(t, m.wait(t, 20*time.Second))
	if got := m.resumed(); got != len(m.all) {
		t.Errorf("%d subscribers have come back %d times", len(m.all), got)
	}
}

//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Networks lose messages without telling anybody. Whatever they lose, in one
// direction or in both, every subscriber gets every acknowledged write once, in
// the order of the log.

// An api or a worker that is cut off from the bus goes on when it is connected
// again. Its subscribers stay, also when it has given up its own connection
// meanwhile.
func TestNothingIsMissedWhileProcessesAreCutOffFromTheBus(t *testing.T) {
	inNetwork(t, func(n *network) {
		c := n.cluster(2)
		l := startLoad(t, c)
		cut := func(from, to string, long time.Duration) {
			n.lose(from, to)
			pause(t.Context(), long)
			n.heal(from, to)
		}
		cut("nats", "api1", 2*time.Second)
		l.writers.progress(t, 20)
		cut("api1", "nats", 2*time.Second)
		l.writers.progress(t, 20)

		mallory := dialAs(t, c.apis[0], token(t, c.data, "mallory", "USER"))
		n.lose("nats", "api1")
		n.lose("api1", "nats")
		n.run("ip", "netns", "exec", "api2", program("api"), "revoke", "--sub", "mallory", "--admin", "127.0.0.1:7001")
		cut("worker", "nats", 2*time.Second)
		l.writers.progress(t, 20)
		// It notices within 15 s, and says so when 15 more have passed.
		poll(t, time.Minute, "api1 says that it is cut off", func() error {
			if status, body := fetch(t, c.apis[0].ready, anybody, ""); status != http.StatusServiceUnavailable {
				return fmt.Errorf("%d %s", status, body)
			}
			return nil
		})
		if _, err := list(t.Context(), c.apis[0].url, anybody, "posts", "id"); err != nil {
			t.Errorf("a read from api1 while it is cut off: %v", err)
		}
		n.heal("nats", "api1")
		n.heal("api1", "nats")
		c.apis[0].waitReady(t)
		select {
		case err := <-mallory:
			if closed, ok := errors.AsType[*websocket.CloseError](err); !ok || closed.Code != 4403 {
				t.Errorf("whose token was revoked meanwhile was let go with: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("whose token was revoked meanwhile is still connected")
		}
		l.finish(t)
		if n := l.audience.resumed(); n > 0 {
			t.Errorf("subscribers have come back %d times; none should have lost its connection", n)
		}
	})
}

// dialAs opens a socket and tells how it has ended.
func dialAs(t testing.TB, a *api, token string) <-chan error {
	t.Helper()
	st, err := dialSocket(t.Context(), a.url, token, postChanges)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.close)
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := st.next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended
}

// A client that is cut off from its api hears nothing, and neither does the api.
// The client goes elsewhere with its cursor, and the api gives its place to others.
func TestAClientThatIsCutOffResumesElsewhereAndLeavesItsPlace(t *testing.T) {
	loseClients(t, func(n *network) {
		n.lose("api1", self)
		n.lose(self, "api1")
	})
}

func TestAClientThatHearsNothingResumesElsewhereAndLeavesItsPlace(t *testing.T) {
	loseClients(t, func(n *network) { n.lose("api1", self) })
}

// It goes on to hear what comes, until its api gives it up.
func TestAClientThatIsNotHeardResumesElsewhereAndLeavesItsPlace(t *testing.T) {
	loseClients(t, func(n *network) { n.lose(self, "api1") })
}

func loseClients(t *testing.T, lose func(*network)) {
	t.Helper()
	inNetwork(t, func(n *network) {
		c := n.cluster(2, "--max-sockets", fmt.Sprint(len(transports)))
		one, two := c.apis[0], c.apis[1]
		alice := token(t, c.data, "alice", "USER")
		w := &steadyWriter{apis: []*api{two}, token: alice, ledger: newLedger()}
		a := &audience{errs: make(chan error, len(transports))}
		begin := cursorOf(t, two, anybody, postChanges, func() { _ = w.write(t.Context(), textBefore) })
		for i := range transports {
			s := &subscriber{
				name: fmt.Sprintf("subscriber %d", i), token: alice, apis: []*api{one, two}, what: postChanges,
				after: begin, via: i, silence: 3 * time.Second,
			}
			a.all = append(a.all, s)
			a.wg.Go(func() { a.errs <- s.run(t.Context()) })
		}
		writers := launch(t, w.ledger, func(ctx context.Context) error { w.run(ctx); return nil })
		told := func(more int) {
			t.Helper()
			want := w.ledger.count() + more
			poll(t, 15*time.Second, fmt.Sprintf("each has heard of %d posts", want), func() error {
				for _, s := range a.all {
					if s.count() < want {
						return fmt.Errorf("%s has heard of %d", s.name, s.count())
					}
				}
				return nil
			})
		}
		told(2)
		elsewhere := n.alias()
		if err := places(t, elsewhere, one, alice, 1); err == nil {
			t.Error("there is room beside those who have taken all places")
		}

		lose(n)
		told(2) // mostly by way of the other api
		poll(t, 40*time.Second, "their places are free", func() error { return places(t, elsewhere, one, alice, len(transports)) })
		writers.end(t)
		poll(t, patience, "the last post is made", func() error { return w.write(t.Context(), lastText) })
		w.ledger.check(t, a.wait(t, 15*time.Second))
		if got := a.resumed(); got != len(transports) {
			t.Errorf("%d subscribers have come back %d times", len(transports), got)
		}
	})
}

// places opens so many event streams at an api at once, from another address of
// this host, and closes them. It returns why that is not possible.
func places(t testing.TB, from net.Addr, a *api, token string, many int) error {
	t.Helper()
	there := http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: from, Timeout: 4 * time.Second}).DialContext}}
	defer there.CloseIdleConnections()
	for range many {
		req, err := graphqlRequest(t.Context(), a.url, token, postChanges)
		if err != nil {
			return err
		}
		req.Header.Set("Accept", "text/event-stream")
		resp, err := there.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
	}
	return nil
}

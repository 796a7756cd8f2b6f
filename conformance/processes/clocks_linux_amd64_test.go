//go:build conformance

package processes

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// found is how long it may take, on a busy machine, until connections are found
// whose tokens have ended because a clock was set: 15 s are promised.
const found = 25 * time.Second

// connections are subscriptions of one caller over every transport, all from the
// same cursor on.
type connections struct {
	streams []stream
	ends    chan error
	events  chan event
}

func connectAll(t *testing.T, a *api, token, begin string) *connections {
	t.Helper()
	dials := append(slices.Clone(transports), dialLegacy)
	c := &connections{ends: make(chan error, len(dials)), events: make(chan event, 1000)}
	for _, open := range dials {
		st, err := open(t.Context(), a.url, token, postChanges.resume(begin))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(st.close)
		c.streams = append(c.streams, st)
		go func() {
			for {
				r, err := st.next()
				if err != nil {
					c.ends <- err
					return
				}
				e, err := readEvent(r)
				if err != nil {
					c.ends <- err
					return
				}
				c.events <- e
			}
		}()
	}
	return c
}

// end waits until all have been ended as connections are whose token has ended.
func (c *connections) end(t *testing.T, within time.Duration) {
	t.Helper()
	late := time.After(within)
	for range c.streams {
		select {
		case err := <-c.ends:
			if closed, ok := errors.AsType[*websocket.CloseError](err); err != io.EOF && (!ok || closed.Code != 4403) {
				t.Errorf("a connection ended with: %v", err)
			}
		case <-late:
			t.Fatalf("a connection is still there after %s", within)
		}
	}
}

// hear waits until all have been told of a post; none may have ended.
func (c *connections) hear(t *testing.T, text string) {
	t.Helper()
	late := time.After(15 * time.Second)
	for heard := 0; heard < len(c.streams); {
		select {
		case e := <-c.events:
			if e.Text == text {
				heard++
			}
		case err := <-c.ends:
			t.Fatalf("a connection ended with: %v", err)
		case <-late:
			t.Fatalf("%d of %d connections were told of %q", heard, len(c.streams), text)
		}
	}
}

// say makes a post.
func say(t *testing.T, a *api, token, text string) {
	t.Helper()
	if _, err := mutate(t.Context(), a, token, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}, text); err != nil {
		t.Fatal(err)
	}
}

// admits reports whether a token is good for an api.
func admits(t *testing.T, a *api, token string) error {
	t.Helper()
	_, err := post(t.Context(), a.url, token, call{Query: `{ posts(first: 1) { nodes { id } } }`})
	return err
}

func (a *api) data() string { return a.args[slices.Index(a.args, "--data")+1] }

// A machine whose clock is set forward, or that has slept, has connections whose
// tokens have ended meanwhile. They are found, and nothing else is disturbed.
func TestAClockThatIsSetForwardEndsTheConnectionsOfTokensThatHaveEnded(t *testing.T) {
	t.Parallel()
	a, clock := startWithClock(t)
	alice, bob := tokenFor(t, a.data(), "alice", "USER", time.Hour), tokenFor(t, a.data(), "bob", "USER", 24*time.Hour)
	begin := cursorOf(t, a, anybody, postChanges, func() { say(t, a, bob, textBefore) })
	short, long := connectAll(t, a, alice, begin), connectAll(t, a, bob, begin)
	say(t, a, bob, "before")
	short.hear(t, "before")
	long.hear(t, "before")

	clock.set(t, 2*time.Hour)
	if err := admits(t, a, alice); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a token that has ended by the new time: %v", err)
	}
	short.end(t, found)
	say(t, a, bob, "after")
	long.hear(t, "after")

	clock.set(t, 0)
	say(t, a, bob, "at last")
	long.hear(t, "at last")
}

// A clock that is set back lengthens no connection's life; what it makes good
// again is good for as long as the clock is wrong.
func TestAClockThatIsSetBackKeepsNoConnectionForLonger(t *testing.T) {
	t.Parallel()
	a, clock := startWithClock(t, "--jwt-leeway", "0s", "--rate-anonymous", "100")
	const life = 5 * time.Second
	begin := cursorOf(t, a, anybody, postChanges, func() { say(t, a, tokenFor(t, a.data(), "bob", "USER", time.Hour), textBefore) })
	long := connectAll(t, a, anybody, begin)
	began := time.Now()
	alice := tokenFor(t, a.data(), "alice", "USER", life)
	short := connectAll(t, a, alice, begin)
	if err := admits(t, a, anybody); err != nil {
		t.Error(err)
	}
	clock.set(t, -time.Hour)
	if err := admits(t, a, anybody); err != nil {
		t.Errorf("a caller who has used little of a rate: %v", err)
	}
	short.end(t, found)
	if took := time.Since(began); took < life-2*time.Second || took > life+10*time.Second {
		t.Errorf("connections of a token for %s were ended after %s", life, took)
	}

	if err := admits(t, a, alice); err != nil {
		t.Errorf("by this clock the token is good: %v", err)
	}
	again := connectAll(t, a, alice, begin)
	clock.set(t, 0)
	if err := admits(t, a, alice); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a token that has ended: %v", err)
	}
	again.end(t, found)
	say(t, a, tokenFor(t, a.data(), "bob", "USER", time.Hour), "after all")
	long.hear(t, "after all")
}

//go:build conformance

package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// report is what a client tells: the title of a post that it was told of, or
// that it has failed.
type report struct{ Client, Title, Error string }

// audience gathers what clients report.
type audience struct {
	mu   sync.Mutex
	seen map[string][]string // titles by client
	errs []string
}

func newAudience(clients ...string) *audience {
	a := &audience{seen: map[string][]string{}}
	for _, c := range clients {
		a.seen[c] = nil
	}
	return a
}

func (a *audience) take(r report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Error != "" {
		a.errs = append(a.errs, r.Client+": "+r.Error)
		return
	}
	a.seen[r.Client] = append(a.seen[r.Client], r.Title)
}

// have returns nil when every client has been told of the title.
func (a *audience) have(title string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var missing []string
	for c, titles := range a.seen {
		if !slices.Contains(titles, title) {
			missing = append(missing, fmt.Sprintf("%s (%d)", c, len(titles)))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%q has not come to %v; errors: %v", title, missing, a.errs)
	}
	return nil
}

// began returns nil when every client has been told of something.
func (a *audience) began() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c, titles := range a.seen {
		if len(titles) == 0 {
			return fmt.Errorf("%s has been told of nothing; errors: %v", c, a.errs)
		}
	}
	return nil
}

// whole fails the test unless every client was told of each of the titles once
// and in order.
func (a *audience) whole(t *testing.T, want []string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.errs {
		t.Error(e)
	}
	for _, c := range slices.Sorted(maps.Keys(a.seen)) {
		got := slices.DeleteFunc(slices.Clone(a.seen[c]), func(title string) bool { return strings.HasPrefix(title, "warm") })
		if !slices.Equal(got, want) {
			t.Errorf("%s was told of %d posts: %v", c, len(got), got)
		}
	}
}

// script runs a Node script whose lines are handed to f, until the test ends.
func script(t *testing.T, f func(line []byte), name string, args ...string) (ended <-chan struct{}) {
	t.Helper()
	if _, err := os.Stat("node_modules"); err != nil {
		t.Fatal("the clients are missing: run make clients")
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{name}, args...)...)
	var problems output
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := bufio.NewScanner(out); s.Scan(); {
			f(s.Bytes())
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-done
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s printed\n%s", name, problems.tail())
		}
	})
	return done
}

// What each client does with a connection that stays: it queries, mutates,
// subscribes, is completed, stops, and is told of errors.
func TestForeignClientsSpeakEachProtocol(t *testing.T) {
	c := newCluster(t, 2, "http://localhost")
	type outcome struct{ Name, Error string }
	var list []outcome
	ended := script(t, func(line []byte) {
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			t.Errorf("printed %q", line)
			return
		}
		list = append(list, o)
	}, "protocols.mjs", c.url(), token(t, "alice"))
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the clients did not end")
	}
	if len(list) != 48 {
		t.Errorf("%d checks were made", len(list))
	}
	for _, o := range list {
		t.Run(o.Name, func(t *testing.T) {
			if o.Error != "" {
				t.Error(o.Error)
			}
		})
	}
}

// resuming are the clients of resuming.mjs.
var resuming = []string{
	"graphql-ws", "graphql-sse", "graphql-sse single", "subscriptions-transport-ws",
	"Apollo GraphQLWsLink", "Apollo WebSocketLink", "urql graphql-ws", "urql graphql-sse",
}

func TestForeignClientsMissNothingWhenProcessesAreKilled(t *testing.T) {
	c := newCluster(t, 3, "http://localhost")
	a := newAudience(resuming...)
	script(t, func(line []byte) {
		var r report
		if err := json.Unmarshal(line, &r); err != nil {
			t.Errorf("printed %q", line)
			return
		}
		a.take(r)
	}, "resuming.mjs", c.url(), token(t, "alice"))
	c.survive(t, a)
}

// survive writes posts while one process after the other is killed. The last
// one stays, and is the one that is written by.
func (c *cluster) survive(t *testing.T, a *audience) {
	t.Helper()
	const mine = 2
	warm := 0
	await(t, time.Minute, "all have subscribed", func() error {
		warm++
		c.write(t, mine, fmt.Sprint("warm ", warm))
		return a.began() // a page on a loaded machine is slower than who writes
	})
	var titles []string
	write := func(n int) {
		for range n {
			titles = append(titles, fmt.Sprint("post ", len(titles)+1))
			c.write(t, mine, titles[len(titles)-1])
		}
	}
	write(10)
	c.apis[0].kill()
	write(10)
	await(t, time.Minute, "all have come back", func() error { return a.have(titles[len(titles)-1]) })
	c.apis[0].start(t)
	write(5)
	c.apis[1].kill()
	write(20)
	await(t, time.Minute, "all have come back again", func() error { return a.have(titles[len(titles)-1]) })
	a.whole(t, titles)
}

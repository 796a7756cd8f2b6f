//go:build conformance

package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"
)

// Clients that were told of no event learn from heartbeats where they are. So
// they miss nothing when their process is killed, although what others did
// meanwhile is no longer kept.
func TestIdleForeignClientsMissNothing(t *testing.T) {
	c := newCluster(t, 2, "http://localhost")
	clients := []string{"graphql-ws", "graphql-sse", "graphql-sse single"}
	a := newAudience(clients...)
	var mu sync.Mutex
	learned := map[string]int{}
	script(t, func(line []byte) {
		var r struct {
			report
			Learned bool
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Errorf("printed %q", line)
			return
		}
		if !r.Learned {
			a.take(r.report)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		learned[r.Client]++
	}, "idle.mjs", c.url())
	all := func(more map[string]int) func() error {
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			for _, name := range clients {
				if learned[name] <= more[name] {
					return fmt.Errorf("%s has learned %d times", name, learned[name])
				}
			}
			return nil
		}
	}
	await(t, time.Minute, "all have learned where they begin", all(nil))
	const others = 1
	id := c.write(t, others, "others'")
	for i := range 100 { // the log keeps 64 changes of a record
		c.retitle(t, others, id, fmt.Sprint("others' ", i))
	}
	mu.Lock()
	before := maps.Clone(learned)
	mu.Unlock()
	await(t, time.Minute, "all have learned from a heartbeat", all(before))
	var titles []string
	for i, api := range c.apis {
		api.kill()
		titles = append(titles, fmt.Sprint("mine ", i))
		c.write(t, 1-i, titles[i])
		api.start(t)
		await(t, time.Minute, "all have come back", func() error { return a.have(titles[i]) })
	}
	a.whole(t, titles)
}

package realtime_test

import (
	"fmt"
	"sync"
	"testing"
)

// Two hundred clients come back at once and read the log again; who listens
// meanwhile is told of each event all the same, and each of them of all.
func TestManyWhoResumeDelayNobodyWhoListens(t *testing.T) {
	t.Parallel()
	const resumers, before, after = 200, 80, 10
	p := pods(t, 1)[0] // which keeps 64 events in memory: they read the log
	start := p.Feed.Now().String()
	for i := range before {
		p.write(t, fmt.Sprint(i))
	}
	live := p.webSocket(t, "")
	eventually(t, "it subscribes", func() bool { return p.engine.Stats().Sinks == 1 })
	streams := make([]subscription, resumers)
	for i := range streams {
		streams[i] = p.stream(t, start) // and reads nothing yet
	}
	for i := range after {
		p.write(t, fmt.Sprint(before+i))
		if ch, ok := live.next(); !ok || ch.Data.PostChanged.Post.Title != fmt.Sprint(before+i) {
			t.Fatalf("who listens got %+v %v instead of post %d", ch, ok, before+i)
		}
	}
	var wg sync.WaitGroup
	for n, s := range streams {
		wg.Go(func() {
			for i := range before + after {
				if ch, ok := s.next(); !ok || ch.Data.PostChanged.Post.Title != fmt.Sprint(i) {
					t.Errorf("client %d got %+v %v instead of post %d", n, ch, ok, i)
					return
				}
			}
		})
	}
	wg.Wait()
}

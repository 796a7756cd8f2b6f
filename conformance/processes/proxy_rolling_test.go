//go:build conformance

package processes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// All processes are restarted one by one behind HAProxy and nginx, each with the
// configuration of deploy, while clients subscribe, ask and write through them: no
// request fails, and each subscriber gets every event once.
func TestARollingRestartBehindProxiesIsNotNoticed(t *testing.T) {
	const (
		many   = 240 // subscribers
		delay  = 3 * time.Second
		window = 3 * time.Second
		parts  = 4
	)
	bus := startBus3(t)
	c := &cluster{data: t.TempDir(), bus: bus.url}
	env := []string{"TIDINGS_NATS_URL=" + bus.url, "TIDINGS_REPLICAS=3"}
	for i := range 2 {
		c.workers = append(c.workers, startWorker(t, fmt.Sprintf("worker %d", i+1), c.data, env))
	}
	for i := range 3 {
		c.apis = append(c.apis, startAPI(t, fmt.Sprintf("api %d", i+1), c.data, env, "--drain-delay", delay.String(), "--drain-window", window.String(), "--trusted-proxies", "127.0.0.0/8"))
	}
	trusted, cert, key := certificate(t)
	ha, ng := startHAProxy(t, c.apis, cert, key), startNginx(t, c.apis, cert, key)
	ha.allUp(t)
	author := c.authors(t, 1)[0]
	w := &steadyWriter{apis: []*api{ha.plain, ng.plain}, token: author, ledger: newLedger()}
	begin := cursorOf(t, c.apis[0], anybody, postChanges, func() { _ = w.write(t.Context(), textBefore) })
	a := &audience{errs: make(chan error, many)}
	http2 := map[*proxy]dial{ha: ha.streamsOver(t, trusted), ng: ng.streamsOver(t, trusted)}
	for i := range many {
		s := &subscriber{name: fmt.Sprintf("subscriber %d", i), token: anybody, what: postChanges, after: begin, via: i / 2}
		via := []*proxy{ha, ng}[i%2]
		s.apis = []*api{via.plain}
		if i%8 < 2 { // a quarter
			s.apis, s.dials = []*api{via.private}, []dial{http2[via]}
		}
		a.all = append(a.all, s)
		a.wg.Go(func() { a.errs <- s.run(t.Context()) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	readers := []*steadyReader{{api: ha.plain}, {api: ng.plain}}
	var steady sync.WaitGroup
	steady.Go(func() { w.run(ctx) })
	for _, r := range readers {
		steady.Go(func() {
			for ctx.Err() == nil {
				r.ask(t)
				pause(ctx, 20*time.Millisecond)
			}
		})
	}
	poll(t, time.Minute, "all have heard something", func() error {
		for _, s := range a.all {
			if s.count() == 0 {
				return fmt.Errorf("%s has heard nothing", s.name)
			}
		}
		return nil
	})
	others := []*stock{startStock(t, ha.plain, author), startStock(t, ng.plain, author)}
	for _, s := range others {
		s.heard(t, "")
	}
	for _, p := range c.apis {
		began := time.Now()
		p.terminate(t)
		if code := p.exit(t, delay+window+20*time.Second); code != 0 {
			t.Errorf("%s has ended with status %d", p.name, code)
		}
		spread := a.left(began.Add(delay), window, parts)
		p.restart(t)
		ha.allUp(t)
		t.Logf("%s let go in each quarter of its window: %v", p.name, spread)
		if all := spread[0] + spread[1] + spread[2] + spread[3]; slices.Min(spread)*10 < all || all == 0 {
			t.Errorf("%s let go in each quarter of its window: %v", p.name, spread)
		}
	}
	for _, p := range c.workers {
		p.terminate(t)
		if code := p.exit(t, 20*time.Second); code != 0 {
			t.Errorf("%s has ended with status %d", p.name, code)
		}
		p.restart(t)
	}
	connections, _ := ha.load(t)
	t.Logf("HAProxy's connections to each after all: %v", connections)
	cancel()
	steady.Wait()
	for _, r := range readers {
		t.Logf("%d queries through %s", r.asked, r.api.url)
		for _, err := range r.failed {
			t.Errorf("of %d queries one has failed: %v", r.asked, err)
		}
	}
	if len(w.ledger.failures) > 0 {
		t.Errorf("mutations have failed: %v", w.ledger.failures)
	}
	poll(t, patience, "the last post is made", func() error { return w.write(t.Context(), lastText) })
	events := a.wait(t, time.Minute)
	w.ledger.check(t, events)
	for _, s := range others {
		s.heard(t, lastText)
		s.whole(t, events)
	}
	again := 0
	for _, s := range a.all {
		again = max(again, len(s.ended))
	}
	t.Logf("%d subscribers have come back %d times, one of them %d times", many, a.resumed(), again)
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// rig is one side's server with its sockets, begun again when it broke.
type rig struct {
	side    *side
	g       grouping
	n       int
	stuck   int // of them, those that the case slow has stop reading
	dir     string
	publish publisher

	server  *server
	sockets *sockets
}

// up starts what is not there: the server, and the sockets, all of which then
// get events.
func (r *rig) up() error {
	if r.sockets != nil && r.sockets.closed.Load() == 0 {
		return nil
	}
	r.down()
	s, err := start(filepath.Join(r.dir, strings.ReplaceAll(r.side.name, " ", "-")+".log"), r.side.env, r.side.command...)
	if err != nil {
		return err
	}
	r.server = s
	t, _ := r.side.target(r.g)
	t.port, t.stuck = s.port, r.stuck
	for range 200 { // it may listen before it is ready
		one, err := open(t, 0)
		one.close()
		if err == nil {
			return r.connect(t)
		}
		time.Sleep(25 * time.Millisecond)
	}
	return fmt.Errorf("%s takes no sockets", r.side.name)
}

func (r *rig) connect(t target) (err error) {
	if r.sockets, err = dial(t, r.n); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if err := r.publish.publish(0); err != nil {
			return err
		}
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			seen := 0
			r.sockets.look(func(w *window) { seen = w.seen })
			if seen == r.n {
				return nil
			}
		}
		if closed := r.sockets.closed.Load(); closed > 0 || time.Now().After(deadline) {
			return fmt.Errorf("%s: not every one of %d sockets gets events; %d were closed", r.side.name, r.n, closed)
		}
	}
}

func (r *rig) down() {
	r.sockets.close()
	if r.server != nil {
		r.server.stop()
	}
	r.sockets, r.server = nil, nil
}

// result is what one step at one rate showed.
type result struct {
	rate       float64 // events a second that were published
	deliveries float64 // a second
	p50, p99   time.Duration
	cpu        float64 // µs of the server for each delivery
	missing    uint64
	loadWeak   bool // the load could not publish as fast as it was told
	mutations  histogram
}

func (x result) String() string {
	return fmt.Sprintf("%.1f events/s, %.0f deliveries/s, p50 %s ms, p99 %s ms, CPU %.2f µs, missing %d, load weak %t",
		x.rate, x.deliveries, ms(x.p50), ms(x.p99), x.cpu, x.missing, x.loadWeak)
}

func (x result) good() bool { return x.missing == 0 && !x.loadWeak && x.p99 < limit }

// limit is what the slowest 1 % of the deliveries may take.
const limit = 250 * time.Millisecond

// step publishes at the rate for a while and waits for the last delivery.
func (r *rig) step(rate float64, d time.Duration) (x result, err error) {
	if err := r.up(); err != nil {
		return x, err
	}
	if _, err := pace(context.Background(), r.publish, rate, max(1, int(rate*warm.Seconds()))); err != nil {
		return x, err
	}
	cpu, err := r.server.cpu()
	if err != nil {
		return x, err
	}
	r.sockets.begin()
	begun := time.Now()
	events, err := pace(context.Background(), r.publish, rate, max(int(rate*d.Seconds()), 8))
	if err != nil {
		return x, err
	}
	took := time.Since(begun)
	want := uint64(events) * uint64(r.n)
	r.await(want)
	after, err := r.server.cpu()
	if err != nil {
		return x, err
	}
	r.sockets.end()
	r.sockets.look(func(w *window) {
		x.missing = want - min(want, w.latencies.total)
		x.p50, x.p99 = w.latencies.quantile(0.5), w.latencies.quantile(0.99)
		x.cpu = float64((after - cpu).Microseconds()) / float64(max(w.latencies.total, 1))
		x.mutations = w.mutations
	})
	x.rate = float64(events) / max(took.Seconds(), float64(events)/rate)
	x.deliveries = x.rate * float64(r.n)
	x.loadWeak = x.rate < rate*0.95
	if x.missing > 0 {
		r.down() // what it still sends must not disturb what follows
	}
	return x, nil
}

// await waits until so many deliveries have come, or none comes any more.
func (r *rig) await(want uint64) {
	last, still := uint64(0), 0
	for still < 20 {
		now := r.sockets.delivered()
		if now >= want {
			return
		}
		if now == last {
			still++
		} else {
			last, still = now, 0
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// warm is how long a rate is held before it is measured.
const warm = 500 * time.Millisecond

// knee looks for the highest rate that is good: it doubles the rate until it is
// not, and halves the rest (geometrically) so many times.
func (r *rig) knee(first float64, d time.Duration, report func(result)) (best result, err error) {
	bad := 0.0
	for rate := first; ; {
		x, err := r.step(rate, d)
		if err != nil {
			return best, err
		}
		report(x)
		if x.good() {
			best = x
		} else {
			bad = rate
		}
		switch {
		case bad == 0:
			rate *= 2
			continue
		case best.rate == 0:
			rate /= 2
			if rate < first/16 {
				return best, nil
			}
			if bad > rate {
				bad = rate * 2
			}
			continue
		case bad/best.rate < 1.12:
			return best, nil
		}
		rate = sqrt(best.rate * bad)
	}
}

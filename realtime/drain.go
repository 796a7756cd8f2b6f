package realtime

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// closeGrace is how long Close waits for closing handshakes before it cuts.
const closeGrace = 2 * time.Second

// Drain ends the hub gently: from now on connections are refused (503), and
// those that are open are ended one by one, evenly over Options.DrainWindow, so
// that their clients do not all come back at once. Idle ones go first, the rest
// in random order. What waits in a connection's queue still leaves; a socket is
// then closed with 1012, a stream ends after `retry:`, and neither operation
// nor stream is completed: stock clients connect again and resume.
//
// Drain returns nil when every connection and everything that served it has
// ended. When ctx ends first it cuts what is left and returns ctx's error, with
// how many that were.
func (h *Hub) Drain(ctx context.Context) error {
	return h.end(ctx, h.opts.DrainWindow)
}

// Close ends the hub like Drain, but at once: connections that have not ended
// within two seconds are cut. The error is nil, or wraps
// context.DeadlineExceeded.
func (h *Hub) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	return h.end(ctx, 0)
}

func (h *Hub) end(ctx context.Context, window time.Duration) error {
	defer h.answering.Wait()
	defer h.kill()
	defer h.forgetReserved()
	h.spread(ctx, h.leaving(), window)
	done := make(chan struct{})
	go func() { defer close(done); h.wg.Wait() }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	h.kill()
	left := h.open()
	for _, c := range left {
		c.abort()
	}
	<-done
	return fmt.Errorf("%d connections were cut: %w", len(left), ctx.Err())
}

// Refuse refuses connections from now on (503), as the first step of Drain; those
// that are open stay.
func (h *Hub) Refuse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// leaving are the connections that are open, in the order in which they are to be
// closed. No others come.
func (h *Hub) leaving() []conn {
	h.Refuse()
	conns := h.open()
	rand.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
	var idle, busy []conn
	for _, c := range conns {
		if c.idle() {
			idle = append(idle, c)
		} else {
			busy = append(busy, c)
		}
	}
	return slices.Concat(idle, busy)
}

// spread drains the connections evenly over the window, all that are left at
// once when ctx ends.
func (h *Hub) spread(ctx context.Context, conns []conn, window time.Duration) {
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, c := range conns {
		timer.Reset(time.Until(start.Add(window * time.Duration(i) / time.Duration(len(conns)))))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		c.drain()
	}
}

func (h *Hub) open() []conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	conns := make([]conn, 0, len(h.conns))
	for c := range h.conns {
		conns = append(conns, c)
	}
	return conns
}

// forgetReserved ends the event streams that nobody has come for.
func (h *Hub) forgetReserved() {
	h.mu.Lock()
	list := slices.Collect(maps.Values(h.reservations))
	h.mu.Unlock()
	for _, r := range list {
		r.expire()
	}
}

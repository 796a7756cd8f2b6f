package realtime

import (
	"math/rand/v2"
	"time"
)

// Processes that were added get connections only when others end. So each has
// an age at which it is let go as in a drain, somewhere in the upper half of
// Options.MaxAge: those that came together do not go together.

// retireLocked notes when a connection that begins now is let go.
func (h *Hub) retireLocked(c conn) {
	if h.opts.MaxAge > 0 {
		h.retired[c] = time.Now().Add(h.opts.MaxAge/2 + rand.N(h.opts.MaxAge/2+1))
	}
}

// rebalance lets connections go that have reached their age.
func (h *Hub) rebalance() {
	tick := time.NewTicker(min(max(h.opts.MaxAge/100, time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.life.Done():
			return
		}
		for _, c := range h.aged() {
			c.drain()
		}
	}
}

// aged are the connections whose time has come.
func (h *Hub) aged() (list []conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for c, at := range h.retired {
		if !now.Before(at) {
			list = append(list, c)
			delete(h.retired, c)
		}
	}
	return list
}

package realtime

import "sync"

// outbound is what sockets and streams have alike: a name, what waits to be written
// to the client, and why the connection ends.
type outbound struct {
	hub  *Hub
	conn uint64 // names it in the log

	mu    sync.Mutex
	out   queue
	cause ending // of its end, the first that there was
}

func newOutbound(h *Hub) outbound { return outbound{hub: h, conn: h.nextConn(), cause: unknown} }

func (o *outbound) number() uint64 { return o.conn }

// waiting is how many bytes wait to be written.
func (o *outbound) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.bytes
}

// because notes why the connection ends, unless that is known.
func (o *outbound) because(why ending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.becauseLocked(why)
}

func (o *outbound) becauseLocked(why ending) {
	if o.cause == unknown {
		o.cause = why
	}
}

// slowLocked notes that the connection ends because its client does not read.
func (o *outbound) slowLocked() {
	if o.cause == unknown {
		o.cause = bySlowness
		o.hub.stats.overflowed.Add(1)
	}
}

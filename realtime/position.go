package realtime

import (
	"maps"
	"slices"
	"strings"
)

// An operation that is idle learns from heartbeats how far it has come, so that
// its client can resume although what it has seen last lies far back. Where it
// begins it learns at once. The engine is asked when a heartbeat is due anyway;
// nothing is woken for it.

// ask has the outlet told how far the client has come, unless the subscription
// is about to begin or to end.
func (s *subscription) ask() {
	if !s.mu.TryLock() { // Subscribe may take long, and holds nobody's heartbeat up
		return
	}
	defer s.mu.Unlock()
	if s.lease == nil {
		return
	}
	if ask := s.lease.question(); ask != nil {
		ask()
	}
}

func (l *lease) question() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ask
}

// Follow implements graphql.Follower.
func (l *lease) Follow(ask func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask = ask
}

// Reached implements graphql.Follower.
func (l *lease) Reached(cursor string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end || cursor == l.at {
		return
	}
	l.at = cursor
	l.sub.out.reached(cursor)
}

// askAll has the operations of a socket told, if its client listens to that.
func (s *socket) askAll() {
	s.mu.Lock()
	if !s.cursors {
		s.mu.Unlock()
		return
	}
	var subs []*subscription
	for _, op := range s.ops {
		if op.sub != nil {
			subs = append(subs, op.sub)
		}
	}
	s.mu.Unlock() // the engine has locks of its own
	for _, sub := range subs {
		sub.ask()
	}
}

// reached implements outlet. The next heartbeat says it.
func (op *operation) reached(cursor string) {
	op.socket.mu.Lock()
	defer op.socket.mu.Unlock()
	op.position = cursor
}

// Start implements graphql.Starter.
func (op *operation) Start(cursor string) {
	s := op.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cursors || op.done {
		return
	}
	op.position = cursor
	if it, ok := s.positionsLocked(); ok {
		s.pushLocked(it)
	}
}

// positionsLocked is the message with what the client does not know yet of its
// operations; false: it knows all, or the queue has no room.
func (s *socket) positionsLocked() (item, bool) {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.ops)) {
		if op := s.ops[id]; op.position != "" {
			b.WriteString("," + quoted(id) + ":" + quoted(op.position))
		}
	}
	if b.Len() == 0 {
		return item{}, false
	}
	it := item{opcode: opText, head: `{"type":"` + s.dialect.heartbeat + `","payload":{"cursors":{` + b.String()[1:] + `}}}`}
	if !s.out.fits(it, s.hub.opts.MaxQueue) {
		return item{}, false
	}
	for _, op := range s.ops {
		op.position = ""
	}
	return it, true
}

// reached implements outlet: an event without data sets the id that the client
// comes back with, and is dispatched to nobody.
// (https://html.spec.whatwg.org/multipage/server-sent-events.html#dispatchMessage)
func (d distinct) reached(cursor string) {
	d.try(item{head: "id: " + cursor + "\n\n"}) // a client that reads slowly has no use for it now
}

// keep notes the stream's subscription, which is about to begin.
func (d distinct) keep(sub *subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sub = sub
}

// Start implements graphql.Starter.
func (d distinct) Start(cursor string) { d.reached(cursor) }

// reached implements outlet. The stream has no one position, and clients of the
// protocol fail at events that they do not know: so it is a comment.
func (op *posted) reached(cursor string) {
	op.stream.try(item{head: ": " + `{"cursors":{` + quoted(op.id) + ":" + quoted(cursor) + "}}\n\n"})
}

// Start implements graphql.Starter.
func (op *posted) Start(cursor string) { op.reached(cursor) }

// askAll has the operations of a stream told.
func (st *stream) askAll() {
	st.mu.Lock()
	sub, res := st.sub, st.res
	st.mu.Unlock()
	if sub != nil {
		sub.ask()
	}
	if res == nil {
		return
	}
	for _, sub := range res.subscriptions() {
		sub.ask()
	}
}

func (r *reservation) subscriptions() (list []*subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, op := range r.ops {
		if op.sub != nil {
			list = append(list, op.sub)
		}
	}
	return list
}

package realtime

import (
	"iter"
	"net/netip"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
)

// Live is a subscription under way.
type Live struct {
	Connection string // as the log has it: conn_id
	ID         string // which its client gave it; empty over an event stream of its own
	Transport  string // websocket or sse
	Client     netip.Addr
	Who        auth.Principal
	Request    graphql.Request // as its client sent it
	Begun      time.Time
	Delivered  uint64 // results queued for the client
	Queue      int    // bytes that wait on its connection, for this one and others
	Cursor     string // of the last result, or of the beginning; empty where there are none
}

// Live yields the subscriptions under way, in no order. What begins or moves to
// another engine in this moment is left out. It takes each one's locks for a
// moment, one after the other, and may be called at any time.
func (h *Hub) Live() iter.Seq[Live] {
	return func(yield func(Live) bool) {
		for _, s := range h.subs.all() {
			if l, there := s.look(); there && !yield(l) {
				return
			}
		}
	}
}

// look tells what the subscription is. It does not wait for an engine, which
// may take seconds to begin it.
func (s *subscription) look() (l Live, there bool) {
	if !s.mu.TryLock() {
		return Live{}, false
	}
	defer s.mu.Unlock()
	if s.lease == nil {
		return Live{}, false
	}
	at := s.out.spot()
	l = Live{
		Connection: s.hub.connID(at.conn), ID: at.id, Transport: transportNames[s.transport()], Client: at.client, Queue: at.waiting,
		Who: s.who, Request: s.request, Begun: time.Unix(0, s.begun),
	}
	l.Cursor, l.Delivered = s.lease.progress()
	return l, true
}

// progress is how far the client has come, and how many results it was given.
func (l *lease) progress() (at string, given uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at, l.sub.given
}

// spot is where an operation is.
type spot struct {
	conn    uint64
	id      string
	client  netip.Addr
	waiting int
}

func (op *operation) spot() spot {
	s := op.socket
	return spot{conn: s.conn, id: op.id, client: s.client, waiting: s.waiting()}
}

func (d distinct) spot() spot {
	return spot{conn: d.conn, client: d.from, waiting: d.waiting()}
}

func (op *posted) spot() spot {
	st := op.stream
	return spot{conn: st.conn, id: op.id, client: st.from, waiting: st.waiting()}
}

// expelled is what a client is told whose connection an operator ends.
const expelled = "an operator has ended this connection; connect again and resume by cursor"

// EndConnection ends the connection of that name (Live.Connection) as Drain does,
// so that its client may come back and resume: a socket with 1012. What it has
// asked for, queries and mutations, is answered before. False: there is none.
func (h *Hub) EndConnection(name string) bool {
	for _, c := range h.open() {
		if h.connID(c.number()) == name {
			c.expel()
			return true
		}
	}
	return false
}

func (s *socket) expel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.becauseLocked(byOperator)
	if s.running == 0 {
		s.closeLocked(closeRestart, expelled)
		return
	}
	s.draining = true
}

func (st *stream) expel() {
	st.mu.Lock()
	st.becauseLocked(byOperator)
	st.mu.Unlock()
	st.drain()
}

var errEnded = fault.New(fault.Forbidden, "an operator has ended this operation")

// EndOperation ends one subscription with FORBIDDEN; what else runs on its
// connection goes on. False: there is none.
func (h *Hub) EndOperation(connection, id string) bool {
	for _, s := range h.subs.all() {
		if at := s.out.spot(); at.id == id && h.connID(at.conn) == connection {
			s.out.End(errorList(errEnded, ""))
			s.end()
			return true
		}
	}
	return false
}

// admits returns why somebody may not connect, nil when they may.
func (h *Hub) admits(who auth.Principal) error {
	if h.opts.Admits == nil {
		return nil
	}
	return h.opts.Admits(who)
}

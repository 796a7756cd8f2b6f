package realtime

import (
	"strconv"
	"time"

	"tidings/auth"
	"tidings/fault"
)

// errOtherCaller refuses credentials that are not of whom the connection is.
var errOtherCaller = fault.New(fault.Forbidden, "the new token is another caller's: open a connection of its own for that one")

// renew takes new credentials of the same subject for those that the socket has:
// it lives as long as they do, and what they grant counts from here on. The
// answer, a pong, says when they end. Others close the socket.
func (s *socket) renew(credentials string) {
	who, err := s.hub.verifier.Bearer(credentials)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.acked:
		s.rejectLocked(closeUnauthorized, "unauthorized: "+s.dialect.name+" begins with connection_init")
		return
	case err == nil && who.Subject != s.who.Subject:
		err = errOtherCaller
	case err == nil:
		err = s.hub.admits(who)
	}
	if err != nil {
		s.rejectLocked(closeForbidden, fault.Of(err).Message)
		return
	}
	stop(s.limit)
	s.who, s.limit = who, s.hub.atEnd(who, s.expired)
	var subs []*subscription
	for _, op := range s.ops {
		if op.sub != nil {
			subs = append(subs, op.sub)
		}
	}
	s.mu.Unlock() // the engine has locks of its own
	for _, sub := range subs {
		sub.renew(who)
	}
	s.mu.Lock()
	s.pushLocked(item{opcode: opText, head: `{"type":"pong","payload":{"expires":` + quoted(who.Expires.UTC().Format(time.RFC3339)) + `}}`})
}

func (s *socket) expired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.becauseLocked(byExpiry)
	s.rejectLocked(closeForbidden, expired)
}

// recheck closes the socket when its credentials have ended.
func (s *socket) recheck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.hub.valid(s.who); err != nil && s.acked {
		s.becauseLocked(endOf(s.who))
		s.rejectLocked(closeForbidden, fault.Of(err).Message)
	}
}

// renew goes on with other credentials of the same subject. Where they grant
// something else the subscription moves, after the last event that its client
// was given, to the group of those who see the same; what it may not have any
// more ends with the error that says so.
func (s *subscription) renew(who auth.Principal) {
	for {
		t := s.hub.use()
		done, failed := s.renewAt(t, who)
		t.users.Done()
		if failed != nil {
			s.out.End(failed)
		}
		if done {
			return
		}
	}
}

// renewAt is not done when another engine is about to follow.
func (s *subscription) renewAt(t *tenure, who auth.Principal) (done bool, failed []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil || who.Roles == s.who.Roles { // it begins, or goes on, with these
		s.who = who
		return true, nil
	}
	if t.retired.Load() {
		return false, nil
	}
	s.pauseLocked()
	s.who = who
	if refused := s.resumeLocked(t.engine); refused != nil {
		return true, errorsOf(*refused)
	}
	return true, nil
}

// renew takes new credentials of the same subject for those that the stream and
// its operations have.
func (r *reservation) renew(who auth.Principal) error {
	r.mu.Lock()
	if err := r.admitsLocked(who); err != nil {
		r.mu.Unlock()
		return err
	}
	r.who = who
	for _, o := range r.waiting {
		o.Who = who
	}
	var subs []*subscription
	for _, op := range r.ops {
		stop(op.expiry)
		op.who, op.expiry = who, r.hub.atEnd(who, op.stream.expired)
		if op.sub != nil {
			subs = append(subs, op.sub)
		}
	}
	st := r.stream
	r.mu.Unlock()
	if st != nil {
		st.livesBy(who, r)
	}
	for _, sub := range subs {
		sub.renew(who)
	}
	return nil
}

// bearer is by whose credentials the stream lives.
func (r *reservation) bearer() auth.Principal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.who
}

// valid returns why credentials of the stream or of an operation count no more.
func (r *reservation) valid() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, op := range r.ops {
		if err := r.hub.valid(op.who); err != nil {
			return err
		}
	}
	return nil
}

// livesBy makes the stream end with these credentials.
func (st *stream) livesBy(who auth.Principal, res *reservation) {
	st.mu.Lock()
	stop(st.expiry)
	st.who, st.res = who, res
	if !st.left {
		st.expiry = st.hub.atEnd(who, st.expired)
	}
	st.mu.Unlock()
	st.recheck() // they may have ended before the hub knew of them
}

// recheck ends the stream when its credentials have ended.
func (st *stream) recheck() {
	st.mu.Lock()
	who, res := st.who, st.res
	st.mu.Unlock()
	err := st.hub.valid(who)
	if err == nil && res != nil {
		err = res.valid()
	}
	if err != nil {
		st.dismiss(fault.Of(err).Message, endOf(who))
	}
}

func (st *stream) expired() { st.dismiss(expired, byExpiry) }

// dismiss ends the stream for a reason that the client is told, so that it comes
// back with other credentials. The one query or mutation of a stream is answered.
func (st *stream) dismiss(why string, cause ending) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out.shut {
		return
	}
	st.why, st.draining = why, true
	st.becauseLocked(cause)
	if st.running == 0 || st.res != nil {
		st.comeBackLocked()
	}
}

// farewell is a comment that says why the stream ends.
func (st *stream) farewell() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.why == "" {
		return ""
	}
	return ": " + strconv.Itoa(closeForbidden) + " " + st.why + "\n"
}

// expired is what a client is told when its time is up.
const expired = "the token has expired"

// valid returns why credentials count no more, nil while they do.
func (h *Hub) valid(who auth.Principal) error { return h.verifier.Valid(who) }

// atEnd calls f when the credentials end. Time is told by the monotonic clock:
// a clock that is set must not lengthen a token's life. What the wall clock says
// of it is looked at by watch. The timer is nil for credentials without an end.
func (h *Hub) atEnd(who auth.Principal, f func()) *time.Timer {
	if who.Expires.IsZero() {
		return nil
	}
	return time.AfterFunc(time.Until(who.Expires), f)
}

// stop stops a timer, if there is one.
func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

const (
	// recheckEvery is how often credentials are held against the wall clock.
	recheckEvery = 15 * time.Second
	// recheckGap is the least time between two looks at all connections.
	recheckGap = 50 * time.Millisecond
)

// watch ends the connections whose credentials are revoked, and those that the
// wall clock takes away: it may be set, and a machine may sleep.
func (h *Hub) watch() {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		changed := h.verifier.Changed()
		for _, c := range h.open() {
			c.recheck()
		}
		gap.Reset(recheckGap)
		select {
		case <-gap.C:
		case <-h.life.Done():
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-h.life.Done():
			return
		}
	}
}

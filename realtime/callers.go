package realtime

import (
	"errors"
	"net/http"
	"net/netip"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/sleep"
	"tidings/quota"
)

// tooManyFrom is what somebody is told at whose address there are too many.
const tooManyFrom = "there are as many connections from this address as there may be; try again later"

var errCrowded = errors.New(tooManyFrom)

// tooMany is what a caller with too many connections is told.
const tooMany = "there are as many connections of this caller as there may be; close one, or try again later"

// callerOf names a caller: by the subject, or by an anonymous caller's network.
func callerOf(who auth.Principal, client netip.Addr) string {
	if who.Anonymous() {
		return "from " + quota.Network(client)
	}
	return "subject " + who.Subject
}

// addressOf names what a connection from an address counts for; empty while
// that is not counted.
func (h *Hub) addressOf(from netip.Addr) string {
	if h.opts.MaxPerAddress <= 0 {
		return ""
	}
	return "at " + quota.Network(from)
}

// claim counts a connection of the caller, unless there are as many as there
// may be. What was claimed must be released.
func (h *Hub) claim(caller string) bool {
	if h.opts.MaxPerCaller <= 0 {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.countLocked(caller, h.opts.MaxPerCaller) {
		return true
	}
	h.turnedAway(refusedCaller)
	return false
}

// release takes a connection off the count; an empty name was never claimed.
func (h *Hub) release(caller string) {
	if h.opts.MaxPerCaller <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uncountLocked(caller)
}

// countLocked counts one more for a name, unless there are as many as there may
// be. An empty name is not counted.
func (h *Hub) countLocked(name string, most int) bool {
	if name == "" {
		return true
	}
	if h.callers[name] >= most {
		return false
	}
	h.callers[name]++
	return true
}

func (h *Hub) uncountLocked(name string) {
	if name == "" {
		return
	}
	if h.callers[name]--; h.callers[name] <= 0 {
		delete(h.callers, name)
	}
}

// crowded reports whether there are as many connections from the address as
// there may be.
func (h *Hub) crowded(from netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	address := h.addressOf(from)
	return address != "" && h.callers[address] >= h.opts.MaxPerAddress
}

// Crowded returns an error from the moment when there are MaxConnections until a
// tenth of them has gone: whoever sends new clients shall send them elsewhere,
// and not change their mind with each that comes or goes. While memory is short it
// returns nothing: what fills the memory of one process, events that all have to
// tell, fills that of all, and a service none of whose processes may be sent to
// answers no query either. New connections are refused, one by one.
func (h *Hub) Crowded() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.crowd {
		return errFull
	}
	return nil
}

// refuseMany answers a caller who has too many event streams, or an address.
func refuseMany(w http.ResponseWriter, why string) {
	refuse(w, &httpError{http.StatusTooManyRequests, fault.RateLimited, why})
}

// pace lets a socket that sends too many messages wait for its turn: its
// client is held up by its own connection, and others by nothing.
func (s *socket) pace() {
	most := s.hub.opts.MaxMessages
	if most <= 0 {
		return
	}
	each := time.Second / time.Duration(most)
	now := time.Since(s.hub.born)
	s.due = max(s.due, now) + each
	if early := s.due - now - 2*time.Second; early > 0 {
		_ = sleep.For(s.hub.life, early) // what comes of it is the same when the hub ends
	}
}

// limited is a refusal that nobody knows the end of: another of the caller's
// own operations or connections has to end first.
func limited(format string, args ...any) *fault.Error {
	f := fault.New(fault.RateLimited, format, args...)
	f.RetryAfter = 1
	return f
}

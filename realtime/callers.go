package realtime

import (
	"net/http"
	"net/netip"

	"tidings/auth"
	"tidings/fault"
	"tidings/quota"
)

// tooMany is what a caller with too many connections is told.
const tooMany = "there are as many connections of this caller as there may be; close one, or try again later"

// callerOf names a caller: by the subject, or by an anonymous caller's network.
func callerOf(who auth.Principal, client netip.Addr) string {
	if who.Anonymous() {
		return "from " + quota.Network(client)
	}
	return "subject " + who.Subject
}

// claim counts a connection of the caller, unless there are as many as there
// may be. What was claimed must be released.
func (h *Hub) claim(caller string) bool {
	if h.opts.MaxPerCaller <= 0 {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.callers[caller] >= h.opts.MaxPerCaller {
		h.stats.refused.Add(1)
		return false
	}
	h.callers[caller]++
	return true
}

// release takes a connection off the count; an empty name was never claimed.
func (h *Hub) release(caller string) {
	if h.opts.MaxPerCaller <= 0 || caller == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.callers[caller]--; h.callers[caller] <= 0 {
		delete(h.callers, caller)
	}
}

// refuseMany answers a caller who has too many event streams.
func refuseMany(w http.ResponseWriter) {
	refuse(w, &httpError{http.StatusTooManyRequests, fault.RateLimited, tooMany})
}

// limited is a refusal that nobody knows the end of: another of the caller's
// own operations or connections has to end first.
func limited(format string, args ...any) *fault.Error {
	f := fault.New(fault.RateLimited, format, args...)
	f.RetryAfter = 1
	return f
}

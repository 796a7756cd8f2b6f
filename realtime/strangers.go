package realtime

// Strangers are the sockets that have not yet shown who they are. Where
// Options.MaxStrangers bounds them they take no place of those who have: the oldest
// of them is put out for one too many, so that who comes with credentials is let in
// whatever others do.

// arriveLocked notes that a socket has come, and nobody knows whose.
func (h *Hub) arriveLocked(c conn) {
	if s, is := c.(*socket); is && h.opts.MaxStrangers > 0 {
		h.strangers[s] = false
	}
}

// knownLocked counts the connections whose callers are known; where strangers are not
// bounded that is all of them.
func (h *Hub) knownLocked() int { return len(h.conns) - len(h.strangers) }

// acquaint counts a socket among those whose callers are known. The error says why
// there is no place for it.
func (h *Hub) acquaint(s *socket) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, is := h.strangers[s]; !is {
		return nil
	}
	if h.opts.MaxConnections > 0 && h.knownLocked() >= h.opts.MaxConnections {
		return h.refused(refusedFull, errFull)
	}
	delete(h.strangers, s)
	h.crowdedLocked()
	return nil
}

// putOut cuts off the oldest stranger while there are too many. The caller holds no
// lock of a socket.
func (h *Hub) putOut() {
	s := h.oldestStranger()
	if s == nil {
		return
	}
	s.because(byOverload)
	s.cut()
}

// oldestStranger is the one to put out, and is counted as such; nil: there are not
// too many.
func (h *Hub) oldestStranger() (oldest *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	staying := 0
	for s, out := range h.strangers {
		if out {
			continue
		}
		staying++
		if oldest == nil || s.conn < oldest.conn {
			oldest = s
		}
	}
	if staying <= h.opts.MaxStrangers {
		return nil
	}
	h.strangers[oldest] = true
	return oldest
}

package realtime

import (
	"bytes"
	"sync"
)

// writer writes for many sockets, each in its turn, and waits for none of them:
// what a connection does not take at once is left to a goroutine of its own.
// So at rest an event wakes one goroutine and not one for each socket, and
// under load all that came for a socket since its last turn leaves in one
// system call.
//
// Its lock is below those of the sockets.
type writer struct {
	hub *Hub
	try func(fd uintptr) // once, made once

	mu      sync.Mutex
	ready   []*socket // in the order in which they got something to write
	running bool
	spare   [][]item // empty queues, for the next sockets

	// Of the goroutine, while there is one.
	turn []*socket
	used [][]item
	buf  []byte // frames put together; once writes them
	sent int
	err  error
}

// maxSpare bounds the queues that are kept for later: so many, and so long.
const (
	maxSpare       = 4096
	maxSpareLength = 64
)

func newWriter(h *Hub) *writer {
	w := &writer{hub: h}
	w.try = w.once
	return w
}

// add gives the socket a turn, and an empty queue that it may use meanwhile.
func (w *writer) add(s *socket) (queue []item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(s)
	if last := len(w.spare) - 1; last >= 0 {
		queue, w.spare = w.spare[last], w.spare[:last]
	}
	return queue
}

func (w *writer) addLocked(s *socket) {
	w.ready = append(w.ready, s)
	if !w.running {
		w.running = true
		w.hub.wg.Go(w.run)
	}
}

// again gives a socket that has had its turn another one, behind the others.
func (w *writer) again(s *socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(s)
}

// run serves until no socket has anything to write.
func (w *writer) run() {
	for w.next() {
		for i, s := range w.turn {
			w.turn[i] = nil
			w.serve(s)
		}
	}
}

// next begins a round; false ends the goroutine.
func (w *writer) next() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare = append(w.spare, w.used[:min(len(w.used), maxSpare-len(w.spare))]...)
	clear(w.used)
	w.used = w.used[:0]
	w.turn, w.ready = w.ready, w.turn[:0]
	w.running = len(w.turn) > 0
	return w.running
}

// serve writes what waits for the socket.
func (w *writer) serve(s *socket) {
	items := s.take()
	rest, left, err := w.write(s, items)
	switch {
	case err != nil:
		s.broken(err)
	case rest != nil:
		w.hub.wg.Go(func() { s.write(rest, left, items) })
	default:
		if s.wrote(items) {
			w.again(s)
		}
		w.reuse(items)
	}
}

// write writes the items as frames, many in one write. When the connection
// takes no more it returns the rest of what was put together and the items that
// were not.
func (w *writer) write(s *socket, items []item) (rest []byte, left []item, err error) {
	w.buf = w.buf[:0]
	for i, it := range items {
		w.buf = appendFrame(w.buf, it)
		if len(w.buf) < maxWrite && i < len(items)-1 {
			continue
		}
		if err := s.raw.Control(w.try); err != nil { // Write might wait for somebody else's
			return nil, nil, err
		}
		if w.err != nil {
			return nil, nil, w.err
		}
		if w.sent < len(w.buf) {
			return bytes.Clone(w.buf[w.sent:]), items[i+1:], nil
		}
		w.buf = w.buf[:0]
	}
	if cap(w.buf) > 2*maxWrite {
		w.buf = nil
	}
	return nil, nil, nil
}

// once writes what the connection takes at once.
func (w *writer) once(fd uintptr) { w.sent, w.err = attempt(fd, w.buf) }

// reuse keeps the queue for another socket.
func (w *writer) reuse(items []item) {
	if cap(items) <= maxSpareLength {
		clear(items)
		w.used = append(w.used, items[:0])
	}
}

package realtime

import (
	"context"
	"errors"
	"sync"
)

// item is one thing to be written: head, body and tail, one after the other.
// The body may be shared between connections and is never modified.
type item struct {
	opcode byte // of the WebSocket frame; unused in event streams
	head   string
	body   []byte
	tail   string
}

func (it item) size() int { return len(it.head) + len(it.body) + len(it.tail) }

// overhead is counted for each item beside its bytes: about what the item
// itself takes, so that many empty ones are bounded too.
const overhead = 64

// queue is what waits to be written to one connection, bounded in bytes. What
// is being written still counts. Its owner's lock guards all but wait.
type queue struct {
	items []item
	bytes int
	shut  bool          // nothing is accepted any more
	room  chan struct{} // closed when half of the queue is free; nil when nobody waits
	need  int           // what the last that was not admitted needs; 0: it was
	// When something happened that waits, or is being written; zero: of none it
	// is known. Nanoseconds since 1970.
	dated, leaving int64
}

// push adds it; false means that the queue is full. A single item may be
// larger than the limit, when it is the only one: otherwise it could never leave.
func (q *queue) push(it item, limit int) bool {
	if !q.fits(it, limit) {
		return false
	}
	q.items = append(q.items, it)
	q.bytes += it.size() + overhead
	return true
}

// admits is fits for who comes again after wait: that waits for as much.
func (q *queue) admits(it item, limit int) bool {
	q.need = 0
	if !q.fits(it, limit) {
		q.need = it.size() + overhead
		return false
	}
	return true
}

// fits reports whether push would take it.
func (q *queue) fits(it item, limit int) bool {
	return q.bytes == 0 || q.bytes+it.size()+overhead <= limit
}

// take hands over everything that waits.
func (q *queue) take() []item {
	items := q.items
	q.items = nil
	if q.leaving == 0 {
		q.leaving, q.dated = q.dated, 0
	}
	return items
}

// wrote gives back the room that the items took.
func (q *queue) wrote(items []item, limit int) {
	for _, it := range items {
		q.bytes -= it.size() + overhead
	}
	if q.room != nil && (q.shut || q.bytes <= limit/2) {
		close(q.room)
		q.room = nil
	}
}

// left is when something happened that was written just now; zero: of none it is
// known.
func (q *queue) left() int64 {
	at := q.leaving
	q.leaving = 0
	return at
}

// end drops what waits, accepts no more and wakes those who wait for room.
func (q *queue) end() {
	q.items = nil
	q.close()
}

// close accepts no more, but keeps what waits.
func (q *queue) close() {
	q.shut = true
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

var errShut = errors.New("the connection is closing")

// wait returns when half of the queue is free, and as much as the last
// that was not admitted needs. Others may take it first. mu is the owner's lock, not held.
func (q *queue) wait(ctx context.Context, mu *sync.Mutex, limit int) error {
	for {
		mu.Lock()
		if q.shut {
			mu.Unlock()
			return errShut
		}
		if q.bytes == 0 || q.bytes <= limit/2 && q.bytes+q.need <= limit {
			mu.Unlock()
			return nil
		}
		if q.room == nil {
			q.room = make(chan struct{})
		}
		room := q.room
		mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

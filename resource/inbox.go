package resource

import (
	"context"
	"runtime"
	"sync"

	"tidings/bus"
)

const (
	// maxApply is how many messages go into one transaction of the view: enough
	// that catching up is bound by the disk's throughput and not by its latency.
	maxApply = 2000
	// maxInbox bounds in bytes what has been read and not yet applied.
	maxInbox = 16 << 20
)

// inbox hands messages from the one who reads the log to the one who applies
// them, as many at a time as there are. It is bounded in number and in bytes;
// put waits for room, take for messages.
type inbox struct {
	mu    sync.Mutex
	items []bus.Message
	bytes int
	some  chan struct{} // holds a token when there are items
	room  chan struct{} // holds a token when the items were taken
}

func newInbox() *inbox {
	return &inbox{some: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func (b *inbox) put(ctx context.Context, m bus.Message) error {
	for !b.add(m) {
		select {
		case <-b.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	signal(b.some)
	return nil
}

// add reports false when there is no room. A message that is larger than the
// bound is taken when it is alone.
func (b *inbox) add(m bus.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) == maxApply || len(b.items) > 0 && b.bytes+len(m.Data) > maxInbox {
		return false
	}
	b.items = append(b.items, m)
	b.bytes += len(m.Data)
	return true
}

// take returns what waits, at least one message; nil when ctx ended.
func (b *inbox) take(ctx context.Context) []bus.Message {
	for {
		select {
		case <-b.some:
		case <-ctx.Done():
			return nil
		}
		// Whoever is about to put something goes first: a transaction costs the
		// same for one message as for several. Nobody waits when nobody is.
		runtime.Gosched()
		b.mu.Lock()
		items := b.items
		b.items, b.bytes = nil, 0
		b.mu.Unlock()
		if len(items) > 0 {
			signal(b.room)
			return items
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package resource

import (
	"errors"
	"sort"
)

// ErrBehind says that the ring of recent events does not reach back that far.
// The events are still in the log: use Replay, then try again.
var ErrBehind = errors.New("older than the recent events")

// FromNow is the position for watchers that want no past events.
const FromNow = ^uint64(0)

// Watcher is told of changes. Offer is called in the order of the log, on the
// feed's one goroutine, after the view shows the change. It must not wait for
// a client: whatever it waits for, the whole process waits for.
type Watcher interface{ Offer(Event) }

// maxRing bounds the ring's records in bytes.
const maxRing = 64 << 20

// ring keeps the newest events, oldest first from head, for those who come
// back soon. It is bounded in number and in bytes.
type ring struct {
	events []Event // a circle
	head   int
	count  int
	bytes  int
	floor  uint64 // it holds every event after floor, each with what it changed
}

func (r *ring) at(i int) *Event { return &r.events[(r.head+i)%len(r.events)] }

// add reports whether the event before this one of its record was lost: trimmed
// from the log before it was read. Then neither that is known here nor what this
// one changed.
func (r *ring) add(e Event) (lost bool) {
	if lost = e.Lost || e.Prev > r.floor && !r.holds(e.Prev); lost {
		r.floor = e.Seq
	}
	for r.count > 0 && (r.count == len(r.events) || r.bytes+e.size() > maxRing) {
		oldest := r.at(0)
		r.floor = max(r.floor, oldest.Seq)
		r.bytes -= oldest.size()
		*oldest = Event{}
		r.head = (r.head + 1) % len(r.events)
		r.count--
	}
	*r.at(r.count) = e
	r.count++
	r.bytes += e.size()
	return lost
}

func (e *Event) size() int { return len(e.Raw) + len(e.Before) }

// holds reports whether the event with the sequence is in the ring.
func (r *ring) holds(seq uint64) bool {
	i := sort.Search(r.count, func(i int) bool { return r.at(i).Seq >= seq })
	return i < r.count && r.at(i).Seq == seq
}

// between returns the events with after < Seq <= upto.
func (r *ring) between(after, upto uint64) ([]Event, error) {
	if after < r.floor {
		return nil, ErrBehind
	}
	var events []Event
	from := sort.Search(r.count, func(i int) bool { return r.at(i).Seq > after })
	for i := from; i < r.count && r.at(i).Seq <= upto; i++ {
		events = append(events, *r.at(i))
	}
	return events, nil
}

// Join makes w a watcher and returns the events after the position that it has
// missed; every later event is offered, so that none is missing and none comes
// twice. With FromNow there are no missed events. When the ring of recent
// events does not reach back to the position the error is ErrBehind and w is
// no watcher.
func (f *Feed) Join(after uint64, w Watcher) (missed []Event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after != FromNow {
		if missed, err = f.ring.between(after, f.now); err != nil {
			return nil, err
		}
	}
	f.watchers[w] = struct{}{}
	return missed, nil
}

// Leave ends what Join began. An Offer that is under way may still arrive.
func (f *Feed) Leave(w Watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
}

// Recent returns the events with after < Seq <= upto, of all types, from the
// ring; ErrBehind when it does not reach back to after.
func (f *Feed) Recent(after, upto uint64) ([]Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ring.between(after, upto)
}

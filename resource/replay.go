package resource

import (
	"context"
	"fmt"

	"tidings/bus"
	"tidings/fault"
)

// Join makes w a watcher and returns the events after the position that it has
// missed; every later event is offered, so that none is missing and none comes
// twice. With FromNow there are no missed events. When the ring of recent
// events does not reach back to the position the error is ErrBehind and w is
// no watcher.
func (f *Feed) Join(after uint64, w Watcher) (missed []Event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after != FromNow {
		if missed, err = f.recent(after, f.now); err != nil {
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
	return f.recent(after, upto)
}

func (f *Feed) recent(after, upto uint64) ([]Event, error) {
	if after < f.floor {
		return nil, ErrBehind
	}
	var events []Event
	for i := range len(f.ring) {
		e := f.ring[(f.head+i)%len(f.ring)]
		if e.Seq > after && e.Seq <= upto {
			events = append(events, e)
		}
	}
	return events, nil
}

// Replay reads the changes of one type (of one record when id is not empty)
// after a position from the log and calls fn for each, in order, up to where
// the view stood when Replay was called; it returns that place. When changes
// in the range are gone from the log, or the position lies beyond its end, the
// fault is CursorExpired; fn may have been called before.
func (f *Feed) Replay(ctx context.Context, typ, id string, after uint64, fn func(Event) error) (reached uint64, err error) {
	upto := f.Now().Seq
	if after > upto {
		_, last, err := f.bus.State(ctx)
		if err != nil {
			return after, err
		}
		if after > last {
			return after, expired("it lies beyond the end of the log")
		}
		return after, f.waitFor(ctx, after)
	}
	filter := f.bus.Subjects().Records(typ)
	if id != "" {
		filter = f.bus.Subjects().Record(typ, id)
	}
	chain := chain{after: after, last: map[string]uint64{}}
	_, err = f.bus.Read(ctx, filter, after, upto, func(m bus.Message) error {
		if !chain.holds(m) {
			return expired("some of the events after it are no longer kept")
		}
		e, ok := f.event(m)
		if !ok {
			return nil
		}
		return fn(e)
	})
	if err != nil {
		return after, fmt.Errorf("replay: %w", err)
	}
	return upto, f.checkTail(ctx, filter, upto, &chain)
}

// checkTail follows the chains of what was replayed into the messages that
// came meanwhile: they may have pushed out one that was not read yet.
func (f *Feed) checkTail(ctx context.Context, filter string, upto uint64, c *chain) error {
	_, last, err := f.bus.State(ctx)
	if err != nil || last <= upto {
		return err
	}
	_, err = f.bus.Read(ctx, filter, upto, last, func(m bus.Message) error {
		if !c.holds(m) {
			return expired("some of the events after it are no longer kept")
		}
		return nil
	})
	return err
}

// chain finds out whether the log has dropped messages of a range. Each names
// the one before it of its subject, so one that names a predecessor inside the
// range that was not read proves a hole.
type chain struct {
	after uint64
	last  map[string]uint64
}

func (c *chain) holds(m bus.Message) bool {
	whole := m.Prev <= c.after || c.last[m.Subject] == m.Prev
	c.last[m.Subject] = m.Seq
	return whole
}

func expired(why string) error {
	return fault.New(fault.CursorExpired, "the cursor cannot be resumed: %s; read the current state and subscribe without a cursor", why)
}

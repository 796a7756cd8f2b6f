package resource

import (
	"context"
	"fmt"

	"tidings/bus"
	"tidings/fault"
)

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
	last := c.last[m.Subject]
	c.last[m.Subject] = m.Seq
	if last > 0 {
		return m.Prev == last
	}
	return m.Prev <= c.after
}

func expired(why string) error {
	return fault.New(fault.CursorExpired, "the cursor cannot be resumed: %s; read the current state and subscribe without a cursor", why)
}

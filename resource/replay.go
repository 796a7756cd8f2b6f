package resource

import (
	"context"
	"fmt"
	"maps"

	"tidings/bus"
	"tidings/fault"
)

// Replay reads the changes of one type (of one record when id is not empty)
// after a position from the log and calls fn for each, in order, up to where
// the view stood when Replay was called; it returns that place. When changes
// in the range are gone from the log, or the position lies beyond its end, the
// fault is CursorExpired; fn may have been called before.
func (f *Feed) Replay(ctx context.Context, typ, id string, after uint64, fn func(Event) error) (reached uint64, err error) {
	return f.Past(typ, id, after, nil).Read(ctx, fn)
}

// Past is a replay that can be read in pieces. What is gone from the log is
// found out by later changes of the same record, maybe in a later piece: so
// only when Read has returned nil is it certain that nothing was missing. It
// serves one goroutine.
type Past struct {
	feed   *Feed
	filter string
	at     uint64
	chain  chain
	sight  *Sight // nil: nobody asks for what records were
	states states
}

// Past returns the changes of one type (of one record when id is not empty)
// after a position; nothing is read yet. They have Before where the sight needs
// it; when the log no longer holds it, Read says CursorExpired.
func (f *Feed) Past(typ, id string, after uint64, s *Sight) *Past {
	filter := f.bus.Subjects().Records(typ)
	if id != "" {
		filter = f.bus.Subjects().Record(typ, id)
	}
	return &Past{feed: f, filter: filter, at: after, chain: chain{after: after, last: map[string]uint64{}}, sight: s}
}

// Read does what Replay does. An error of fn ends it, wrapped: the next Read
// begins with the event that fn did not take.
func (p *Past) Read(ctx context.Context, fn func(Event) error) (reached uint64, err error) {
	upto := p.feed.Now().Seq
	if p.at > upto {
		_, last, err := p.feed.bus.State(ctx)
		if err != nil {
			return p.at, err
		}
		if p.at > last {
			return p.at, expired("it lies beyond the end of the log")
		}
		return p.at, p.feed.waitFor(ctx, p.at)
	}
	_, err = p.feed.bus.Read(ctx, p.filter, p.at, upto, func(m bus.Message) error { return p.take(ctx, m, fn) })
	if err != nil {
		return p.at, fmt.Errorf("replay: %w", err)
	}
	p.at = upto
	return upto, p.checkTail(ctx)
}

func (p *Past) take(ctx context.Context, m bus.Message, fn func(Event) error) error {
	e, ok := p.feed.event(m)
	if !p.chain.holds(m) && (ok || m.Prev > 0) { // what is no change, and names none before it, tells nothing of them
		return errGone
	}
	if ok {
		if err := p.complete(ctx, m, &e); err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
		p.remember(m, &e)
	}
	p.chain.add(m)
	p.at = m.Seq
	return nil
}

// checkTail follows the chains of what was read into the messages that came
// meanwhile: they may have pushed out one that was not read yet.
func (p *Past) checkTail(ctx context.Context) error {
	_, last, err := p.feed.bus.State(ctx)
	if err != nil || last <= p.at {
		return err
	}
	tail := chain{after: p.chain.after, last: maps.Clone(p.chain.last)}
	_, err = p.feed.bus.Read(ctx, p.filter, p.at, last, func(m bus.Message) error {
		if _, ok := p.feed.event(m); !tail.holds(m) && (ok || m.Prev > 0) {
			return errGone
		}
		tail.add(m)
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
	if last := c.last[m.Subject]; last > 0 {
		return m.Prev == last
	}
	return m.Prev <= c.after
}

func (c *chain) add(m bus.Message) { c.last[m.Subject] = m.Seq }

var errGone = expired("some of the events after it are no longer kept")

func expired(why string) error {
	return fault.New(fault.CursorExpired, "the cursor cannot be resumed: %s; read the current state and subscribe without a cursor", why)
}

package graphql

import (
	"context"

	"tidings/fault"
)

// Interrupt makes the log be away for a moment after each piece that is read of
// it for somebody who is behind.
func Interrupt(e *Engine) error {
	if err := e.live.start(e); err != nil {
		return err
	}
	for _, s := range e.live.shards {
		past := s.past
		s.past = func(g *group) history { return &interrupted{history: past(g)} }
	}
	return nil
}

type interrupted struct {
	history
	away bool
}

func (h *interrupted) next(ctx context.Context, after, upto uint64) (events []event, reached uint64, err error) {
	if h.away {
		h.away = false
		return nil, after, fault.New(fault.Unavailable, "the log is away")
	}
	events, reached, err = h.history.next(ctx, after, upto)
	h.away = len(events) > 0
	return events, reached, err
}

// Remembering is on how many subjects something is remembered for those who are slow.
func Remembering(e *Engine) (n int) {
	e.live.taps.mu.Lock()
	defer e.live.taps.mu.Unlock()
	for _, p := range e.live.taps.by {
		p.shard.mu.Lock()
		if p.shard.newest != nil {
			n++
		}
		p.shard.mu.Unlock()
	}
	return n
}

package graphql

import (
	"context"

	"tidings/fault"
)

// Break makes the log unreadable for whoever is behind.
func Break(e *Engine) error {
	if err := e.live.start(e); err != nil {
		return err
	}
	for _, s := range e.live.shards {
		s.past = func(*group) history { return broken{} }
	}
	return nil
}

type broken struct{}

func (broken) unread() bool { return false }

func (broken) next(_ context.Context, after, _ uint64) ([]event, uint64, error) {
	return nil, after, fault.New(fault.Internal, "the block is damaged")
}

package bus

import (
	"context"
	"sync"
	"time"
)

// glances share what the leaders of streams say of them, so that many readers of
// one stream do not ask many times. The zero value is ready.
type glances struct {
	mu sync.Mutex
	by map[string]*glance
}

// glance is what the leader of one stream said last. Who has the turn asks; the
// others wait, and as a rule need not ask any more.
type glance struct {
	bus    *Bus
	stream string
	users  int // guarded by glances.mu
	turn   chan struct{}

	// Guarded by the turn.
	state streamState
	asked time.Time // when the question began that brought it
}

// of returns the one of a stream, until release.
func (gs *glances) of(b *Bus, stream string) *glance {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.by[stream]
	if g == nil {
		if gs.by == nil {
			gs.by = map[string]*glance{}
		}
		g = &glance{bus: b, stream: stream, turn: make(chan struct{}, 1)}
		gs.by[stream] = g
	}
	g.users++
	return g
}

func (gs *glances) release(g *glance) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(gs.by, g.stream)
	}
}

// since returns a state that was asked for at that moment or later.
func (g *glance) since(ctx context.Context, moment time.Time) (streamState, error) {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return streamState{}, ctx.Err()
	}
	defer func() { <-g.turn }()
	if !g.asked.Before(moment) {
		return g.state, nil
	}
	now := time.Now()
	s, err := g.bus.stateOf(ctx, g.stream)
	if err != nil {
		return streamState{}, err
	}
	g.state, g.asked = s, now
	return s, nil
}

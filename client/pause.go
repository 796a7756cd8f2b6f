package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// pauses are the waits between connections that come to nothing: from a quarter of
// a second, doubled each time up to half a minute, and somewhere between half of it
// and all of it, so that clients which were cut off together do not come together.
// The zero value is ready.
type pauses struct{ failed int }

const (
	firstPause = 250 * time.Millisecond
	mostPause  = 30 * time.Second
)

// next is the wait before the next try, and at least what was asked for.
func (p *pauses) next(asked time.Duration) time.Duration {
	most := min(firstPause<<min(p.failed, 10), mostPause)
	p.failed++
	jitter := most/2 + rand.N(most/2)
	if asked > jitter {
		return asked + rand.N(most)
	}
	return jitter
}

// over says that a connection has worked.
func (p *pauses) over() { p.failed = 0 }

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

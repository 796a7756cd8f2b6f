package bus

import (
	"context"
	"errors"
	"time"

	"tidings/fault"
)

// bear does something that asks a class of services, again and again while passes
// says of its error that it is gone in a moment, as Persist does with a request.
// size is how much those who wait hold. Nil has no patience.
func (p *Patience) bear(ctx context.Context, class string, size int, passes func(error) bool, try func() error) error {
	if p == nil || p.For <= 0 {
		return try()
	}
	w := wait{p: p, class: class, began: time.Now()}
	defer w.end()
	for {
		err := try()
		switch {
		case err == nil, errors.Is(err, ErrConflict): // somebody answered
			p.heard(class, nil)
			return err
		case !passes(err), !w.more(ctx, size):
			return err
		}
		p.repeated.Add(1)
	}
}

// leaderless reports whether a question to a stream found nobody who leads it.
func leaderless(err error) bool {
	return fault.Is(err, fault.Unavailable) && !errors.Is(err, ErrDenied)
}

// undelivered reports whether nobody got what was to be written.
func undelivered(err error) bool { return offline(err) && !errors.Is(err, ErrDenied) }

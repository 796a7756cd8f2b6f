package soap

import (
	"context"
	"time"

	"tidings/bus"
)

// even is what the time is a multiple of in which doubtful messages are refused
// that are encrypted by a weak cipher, or seem to be: longer than any of the ways
// in which they can be wrong takes. Who changes such a message and sends it again
// and again learns from the answers' times whether it still was XML, and so in the
// end what it says.
const even = 50 * time.Millisecond

// evenOut waits until a multiple of even has gone by. Few hold up nobody's place
// meanwhile; of many more each keeps its own.
func (s *Service) evenOut(ctx context.Context, since time.Time) {
	wait := func() {
		timer := time.NewTimer(even - time.Since(since)%even)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.stopping:
		case <-ctx.Done():
		}
	}
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
		bus.Aside(ctx, wait)
	default:
		wait()
	}
}

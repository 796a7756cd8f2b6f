package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

const (
	// What waits for one who hears is bounded; what comes on top is lost, which
	// is reported.
	heardMessages = 4096
	heardBytes    = 16 << 20
)

// Hear hands what is published on a subject of the adopter's, which may hold
// wildcards, to fn, one message after the other, until ctx ends; then it
// returns nil. started is called once, when messages begin to arrive.
//
// Nothing is stored, so that messages can be lost: while the connection is
// away, and when fn is so slow that 4,096 messages or 16 MiB wait. Then lost is
// called, as soon as it is known and before any message that comes after the
// loss and has not been taken in yet; fn goes on. started and lost may be nil.
// The three are called by one goroutine, and none of them runs when Hear has
// returned.
//
// Errors are faults: UNAVAILABLE, the bus is away at the beginning or was closed;
// BAD_USER_INPUT and FORBIDDEN as Ask.
func (b *Bus) Hear(ctx context.Context, subject string, started func(), fn func(Message), lost func()) error {
	if err := b.checkForeign(subject, true); err != nil {
		return err
	}
	if err := b.Ready(); err != nil {
		return err
	}
	if lost == nil {
		lost = func() {}
	}
	h := hearing{fn: fn, lost: lost}
	if err := h.run(ctx, b, subject, started); err != nil {
		return fmt.Errorf("hear %s: %w", subject, unavailable(err))
	}
	return nil
}

// hearing is one subscription that stores nothing.
type hearing struct {
	fn   func(Message)
	lost func()
}

func (h hearing) run(ctx context.Context, b *Bus, subject string, started func()) error {
	epoch := b.nc.Stats().Reconnects
	sub, err := b.listen(subject, heardMessages, heardBytes)
	if err != nil {
		return err
	}
	defer sub.stop()
	status := b.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer b.nc.RemoveStatusListener(status)
	flush, cancel := b.bound(ctx)
	defer cancel()
	if err := b.nc.FlushWithContext(flush); err != nil && ctx.Err() == nil && b.nc.IsConnected() {
		return err
	}
	if err := b.held(subject); err != nil {
		return err
	}
	if started != nil {
		started()
	}
	// A flood that ends leaves no message behind that would show the loss.
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var m *nats.Msg
		select {
		case <-ctx.Done():
			return nil
		case m = <-sub.msgs:
		case <-status:
		case <-tick.C:
		}
		if b.nc.IsClosed() {
			return fault.New(fault.Unavailable, "the bus connection was closed")
		}
		over := sub.overflowed()
		if now := b.nc.Stats().Reconnects; now != epoch {
			// The count rises before the server has the subscription again: what is
			// published until then is lost as well.
			if b.settled(ctx) {
				epoch, over = now, true
			}
			over = over || m != nil
		}
		if over {
			h.lost()
		}
		if m != nil {
			h.fn(Message{Subject: m.Subject, Header: Header(m.Header), Data: m.Data})
		}
	}
}

// settled reports whether the server has taken in all that was sent to it over
// the connection that stands now, subscriptions included.
func (b *Bus) settled(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return b.nc.IsConnected() && b.nc.FlushWithContext(ctx) == nil
}

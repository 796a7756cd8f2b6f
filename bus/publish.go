package bus

import (
	"context"
	"fmt"
)

// Control is the subject of what the processes tell each other and nobody
// stores; name is one token.
func (s Subjects) Control(name string) string { return s.Prefix + ".ctl." + name }

// Publish sends a message to those who subscribe at this moment, and does not
// wait for them. Nothing is stored, and nobody learns whether it arrived. While
// the bus is away it fails at once with UNAVAILABLE.
func (b *Bus) Publish(subject string, h Header, data []byte) error {
	if err := checkSubject(subject); err != nil {
		return err
	}
	if err := b.nc.PublishMsg(outgoing(subject, h, data)); err != nil {
		return fmt.Errorf("publish %s: %w", subject, unavailable(err))
	}
	return nil
}

// Subscribe hands what is published on the subject to fn, one message after
// the other, until ctx ends; then it returns nil. started, if it is not nil, is
// called once, when messages begin to arrive. What is published while the bus
// is away, or while 4,096 messages wait, is lost. No call of fn runs when
// Subscribe has returned.
func (b *Bus) Subscribe(ctx context.Context, subject string, started func(), fn func(Message)) error {
	h := hearing{fn: fn, lost: func() {}}
	if err := h.run(ctx, b, subject, started); err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, unavailable(err))
	}
	return nil
}

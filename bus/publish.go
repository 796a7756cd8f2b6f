package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

// maxPublished bounds the messages that wait for a subscriber; more are lost,
// and the log says so.
const maxPublished = 4096

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
	msgs := make(chan *nats.Msg, maxPublished)
	sub, err := b.nc.ChanSubscribe(subject, msgs)
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, unavailable(err))
	}
	defer func() { _ = sub.Unsubscribe() }() // which fails on a closed connection: it is gone then
	flush, cancel := b.bound(ctx)
	defer cancel()
	if err := b.nc.FlushWithContext(flush); err != nil && ctx.Err() == nil && b.nc.IsConnected() {
		return fmt.Errorf("subscribe %s: %w", subject, unavailable(err))
	}
	if started != nil {
		started()
	}
	for {
		select {
		case m := <-msgs:
			fn(Message{Subject: m.Subject, Header: Header(m.Header), Data: m.Data})
		case <-ctx.Done():
			return nil
		}
	}
}

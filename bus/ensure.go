package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNotSetUp says that a stream, bucket or queue is not there and that the
// credentials of this process may not create it. The remedy is in the text.
var ErrNotSetUp = errors.New("is not there, and the credentials of this process may not create it: run `api bus setup` with those of the admin role")

// ensure returns a stream, and creates it when it is absent.
func (b *Bus) ensure(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, said, done := b.about(ctx, want.Name)
	defer done()
	s, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = b.js.CreateStream(ctx, want)
		if errors.Is(said(err), ErrDenied) {
			return nil, fmt.Errorf("the stream %s %w (%w)", want.Name, ErrNotSetUp, said(err))
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			s, err = b.js.Stream(ctx, want.Name)
		}
	}
	return s, said(err)
}

// ensureWorkers returns when the consumer that all workers of a queue share is
// there as it should be.
func (q *Queue) ensureWorkers(ctx context.Context) error {
	ctx, said, done := q.bus.about(ctx, q.stream)
	defer done()
	c, err := q.bus.js.Consumer(ctx, q.stream, queueWorkers)
	if err == nil && c.CachedInfo().Config.AckWait == q.opts.Patience {
		return nil
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return unavailable(said(err))
	}
	_, err = q.bus.js.CreateOrUpdateConsumer(ctx, q.stream, jetstream.ConsumerConfig{
		Durable: queueWorkers, Description: "All workers together.",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.opts.Patience, MaxDeliver: -1,
	})
	if errors.Is(said(err), ErrDenied) {
		return fmt.Errorf("the consumer %s of the stream %s %w (%w)", queueWorkers, q.stream, ErrNotSetUp, said(err))
	}
	return unavailable(said(err))
}

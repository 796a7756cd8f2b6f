package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// askAgain is after how long a question to a stream that nobody has answered is
// asked again: it may have gone to a leader that crashed, or with a connection
// that was cut, and nobody tells. Whoever leads then, answers.
const askAgain = time.Second

// question asks a stream until it answers, or ctx ends; without a
// deadline Options.CallTimeout holds. It must be one that may be asked twice.
func (b *Bus) question(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	first, cancelFirst := context.WithTimeout(ctx, askAgain)
	defer cancelFirst()
	answer, err := b.exchangeOn(first, subject, body)
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return answer, err
	}
	watched, done := b.denials.watch(ctx, func(s string) bool { return s == subject })
	defer done()
	answer, err = b.insist(watched, subject, body)
	return answer, b.denials.cause(ctx, watched, err)
}

// insist asks again and again. The answer to any of the questions is good: one
// that takes the leader longer than the pause between them is heard, too.
func (b *Bus) insist(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only when the connection is closed
	for {
		if err := b.nc.PublishRequest(subject, inbox, body); err != nil {
			return nil, err
		}
		waiting, cancel := context.WithTimeout(ctx, askAgain)
		answer, err := sub.NextMsgWithContext(waiting)
		cancel()
		switch {
		case err == nil && statusOf(answer) == "503":
			return nil, nats.ErrNoResponders
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
	}
}

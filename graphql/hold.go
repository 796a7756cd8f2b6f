package graphql

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"tidings/bus"
	"tidings/fault"
)

// A process may die, or stand still, with commands under way that a worker carries
// out much later: when somebody else has taken the key over, and was told for good
// that they are refused. So what is sent under a key is good for no longer than the
// key is held, and whoever lives holds it for as long as it waits.

// maxClaim is how long a claim holds from when it was written.
func (e *Engine) maxClaim() time.Duration { return e.options.Timeout + claimGrace }

// sure is until when the commands of a claim are good that ends then: by so much
// the clocks of those may differ who carry them out and who take the key over.
func sure(until time.Time) time.Time { return until.Add(-claimGrace / 4) }

// hold holds the claim until release is called; the context it returns is the one to
// work under.
func (e *Engine) hold(ctx context.Context, c *claim) (_ context.Context, release func()) {
	ctx, right := bus.WithLease(ctx, sure(c.entry.Until))
	released, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(e.maxClaim() / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-released:
				return
			}
			until, err := e.renew(ctx, c)
			switch {
			case fault.Is(err, fault.Conflict): // it is another one's
				return
			case err == nil:
				right.Renew(sure(until))
			}
		}
	}()
	return ctx, func() {
		close(released)
		<-over
	}
}

// renew writes the claim again, and returns until when it holds. The fault is
// Conflict when somebody else has taken it over.
func (e *Engine) renew(ctx context.Context, c *claim) (until time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	next := c.entry
	next.Until = time.Now().Add(e.maxClaim()).UTC()
	mine := next.encode()
	revision, err := e.options.Answers.Put(ctx, c.name, mine, c.revision)
	if err == nil {
		c.revision = revision
		return next.Until, nil
	}
	if !fault.Is(err, fault.Conflict) && !errors.Is(err, bus.ErrUnknownOutcome) {
		return time.Time{}, err
	}
	c.tried = append(c.tried, mine)
	raw, revision, unread := e.options.Answers.Get(ctx, c.name)
	if unread != nil {
		return time.Time{}, unread
	}
	if !c.wrote(raw) {
		return time.Time{}, err
	}
	was, unread := decodeEntry(raw)
	c.revision = revision
	return was.Until, unread
}

// wrote reports whether an entry is one that was tried.
func (c *claim) wrote(raw []byte) bool {
	return slices.ContainsFunc(c.tried, func(mine []byte) bool { return bytes.Equal(mine, raw) })
}

// Package revoke tells all processes which tokens count no more.
//
// Revocations lie in a bucket of the bus for as long as tokens can live. Every
// process has them in memory, from before it serves, and hears of new ones as
// they are written: docs/bus.md has their form, so that others can write them.
// What a revocation means is for auth.
package revoke

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
)

const (
	// maxBytes bounds the bucket: some 200,000 revocations. A full one refuses
	// new ones, since to forget one would make its token good again.
	maxBytes = 64 << 20
	maxValue = 8 << 10
	// sweepEvery is how often those are forgotten whose tokens have all expired.
	sweepEvery = 10 * time.Minute
)

// Options tunes a List.
type Options struct {
	// Age is how long revocations are kept: longer than any token lives. Zero
	// means 30 days. It holds for a bucket that is created; one that is there
	// keeps its own.
	Age time.Duration
	// Logger; nil means silent.
	Logger *slog.Logger
}

// List is the revocations, as they are shared. Its methods may be called
// concurrently.
type List struct {
	bucket *bus.Bucket
	set    *auth.Revocations
	opts   Options
}

// Open reads all revocations into set: when it returns they count. It fails while
// the bus is away, since a process that does not know them must not serve.
func Open(ctx context.Context, b *bus.Bus, set *auth.Revocations, o Options) (*List, error) {
	o.Age = cmp.Or(o.Age, 30*24*time.Hour)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	k, err := b.Bucket(ctx, bus.BucketOptions{
		Name: "revoked", Description: "Tokens that are revoked.", MaxAge: o.Age, MaxBytes: maxBytes, MaxValue: maxValue,
	})
	if err != nil {
		return nil, err
	}
	l := &List{bucket: k, set: set, opts: o}
	err = k.All(ctx, func(value []byte) error { l.hear(value); return nil })
	if err != nil {
		return nil, fmt.Errorf("read the revoked tokens: %w", err)
	}
	return l, nil
}

// Run takes in what is revoked until ctx ends; then it returns nil. While the bus
// is away the revocations that are known go on to count, and those that are made
// elsewhere meanwhile count when it is back.
func (l *List) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var sweeping sync.WaitGroup
	sweeping.Go(func() { l.sweep(ctx) })
	defer sweeping.Wait()
	defer cancel()
	return l.bucket.Watch(ctx, l.hear)
}

func (l *List) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	born := time.Now()
	for {
		select {
		case now := <-tick.C:
			l.set.Forget(earlier(born, now).Add(-l.opts.Age))
		case <-ctx.Done():
			return
		}
	}
}

// earlier is the time of day of now, or what it would be had nobody set the clock
// since the process began, whichever is earlier: a clock that is set forward for
// a moment must not make what was revoked good again.
func earlier(born, now time.Time) time.Time {
	unset := born.Round(0).Add(now.Sub(born))
	if now = now.Round(0); now.Before(unset) {
		return now
	}
	return unset
}

// hear takes one in. What is not of the form is passed over: it is for the log.
func (l *List) hear(value []byte) {
	r, err := decode(value)
	if err == nil {
		err = l.set.Add(r)
	}
	if err != nil {
		l.opts.Logger.Warn("a revocation cannot be read, and revokes nothing", "error", err)
	}
}

// decode reads a revocation.
func decode(value []byte) (r auth.Revocation, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return r, fmt.Errorf("read a revocation: %w", err)
	}
	return r, r.Check()
}

// Revoke takes tokens back. When it returns that is stored and counts here; it
// counts in every process that the bus reaches as soon as it has told them. The
// fault is BAD_USER_INPUT for a revocation that says nothing, UNAVAILABLE when
// the bus is away or the bucket is full: then it may have been heard by some.
func (l *List) Revoke(ctx context.Context, r auth.Revocation) error {
	if err := r.Check(); err != nil {
		return fault.Wrap(err, fault.BadUserInput, "%s", err)
	}
	err := l.bucket.Update(ctx, keyOf(r), func(value []byte) ([]byte, error) {
		if value != nil {
			if old, err := decode(value); err == nil && !r.Before.After(old.Before) && r.TokenID == "" {
				return nil, nil // that one takes back more
			}
		}
		return json.Marshal(r)
	})
	if err != nil {
		return err
	}
	return l.set.Add(r)
}

// keyOf is the key of a revocation: each later one of a subject, or of
// everybody, takes the place of the one before.
func keyOf(r auth.Revocation) string {
	switch {
	case r.TokenID != "":
		return "jti-" + digest(r.TokenID)
	case r.Subject != "":
		return "sub-" + digest(r.Subject)
	}
	return "all"
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

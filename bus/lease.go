package bus

import (
	"context"
	"time"
)

// Lease is the right to change things for a while, which its holder proves again and
// again by means of its own. While it is over Stale says so to all that works under
// it, and what is sent on account of it is good for no longer. Whoever stands still
// past its end finds it over. It is safe for concurrent use.
type Lease struct{ good *good }

// WithLease returns a context that works under a lease until the given time, or as
// long as what ctx works under already, if that is over sooner.
func WithLease(ctx context.Context, until time.Time) (context.Context, Lease) {
	g := goodTo(until)
	g.within, _ = ctx.Value(goodKey{}).(*good)
	return context.WithValue(ctx, goodKey{}, g), Lease{g}
}

// Renew lets the lease last until then.
func (l Lease) Renew(until time.Time) { l.good.until.Store(until.UnixNano()) }

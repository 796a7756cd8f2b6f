package quota

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"time"

	"tidings/fault"
)

// Tries counts the wrong passwords from one address and for one account. It
// implements auth.Tries. Its methods may be called concurrently.
type Tries struct {
	limiter *Limiter
	address netip.Addr
	account string
}

// Tries returns the count for passwords of the account, known or not, from the
// address of the context's client. It reaches across processes as all counts do.
// Without an account it is the count for what is nobody's, from the address alone.
func (l *Limiter) Tries(ctx context.Context, account string) Tries {
	return Tries{limiter: l, address: Client(ctx), account: account}
}

// Allow returns an *Exceeded when too many passwords from the address or for
// the account were wrong lately. A measuring Limiter refuses these too.
func (t Tries) Allow() error {
	now := time.Now()
	for _, k := range t.keys() {
		if wait := t.limiter.ahead(k, now); wait > 0 {
			f := fault.New(fault.RateLimited, "too many wrong credentials; try again in %d s", Seconds(wait))
			f.RetryAfter = Seconds(wait)
			return &Exceeded{After: wait, cause: f}
		}
	}
	return nil
}

// Wrong counts a wrong password.
func (t Tries) Wrong() {
	now := time.Now()
	for _, k := range t.keys() {
		t.limiter.count(k, t.limiter.rates[k.class], counts{requests: 1}, now)
	}
}

// keys are what a wrong password counts for.
func (t Tries) keys() []key {
	if t.limiter == nil {
		return nil
	}
	var keys []key
	for i, name := range [...]string{Network(t.address), t.account} {
		if c := wrongFrom + class(i); name != "" && t.limiter.rates[c] != (Rate{}) {
			sum := sha256.Sum256([]byte(name))
			keys = append(keys, key{class: c, digest: [16]byte(sum[:16])})
		}
	}
	return keys
}

// ahead returns how long it takes until one more request of the key is allowed.
func (l *Limiter) ahead(k key, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	rate, u := l.rates[k.class], l.used[k]
	if u == nil {
		return 0
	}
	return time.Duration(beyond(u.requests, step(1, rate.Requests), rate.Requests, l.moment(now)))
}

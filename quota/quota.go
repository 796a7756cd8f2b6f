// Package quota counts what each caller has used, in all processes together.
//
// It knows callers by their principal or by the address that they come from,
// and two sizes: requests, and units of cost. What a request is and what it
// costs is its users' to say. Processes tell each other over the bus what they
// counted; no library has its door here, since no limiter of one process can
// take in what another has let pass.
package quota

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/schema"
)

// Options says how much each class of callers may do. The zero value limits nobody.
type Options struct {
	// Anonymous holds for each address, User and Service for each subject. A
	// caller with the role SERVICE is a service, every other known one a user.
	Anonymous, User, Service Rate
	// WrongFrom and WrongFor are how many wrong passwords a minute may come from
	// each address, and for each account; zero means no limit.
	WrongFrom, WrongFor int
	// Measure tells the log who would have been refused, and refuses nobody.
	Measure bool
	// Callers is how many are counted at a time; zero means 100,000 (some 20
	// MB). When there are more, those are forgotten who have used least.
	Callers int
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Limiter is one process's count. Its methods may be called concurrently; a nil
// Limiter limits nobody. Run shares what it counts.
type Limiter struct {
	bus   *bus.Bus
	opts  Options
	rates [5]Rate // by class
	id    string  // of this process, among those who share
	born  time.Time

	mu    sync.Mutex
	used  map[key]*usage
	dirty []key // those with something to tell the others
}

// New returns a limiter. With a bus, Run shares the count with the other
// processes of the same prefix; nil means that this process counts alone.
func New(b *bus.Bus, o Options) *Limiter {
	o.Callers = cmp.Or(o.Callers, 100_000)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	rates := [...]Rate{anonymous: o.Anonymous, user: o.User, service: o.Service, wrongFrom: {Requests: o.WrongFrom}, wrongFor: {Requests: o.WrongFor}}
	return &Limiter{bus: b, opts: o, rates: rates, id: newID(), born: time.Now(), used: map[key]*usage{}}
}

// Exceeded is the error of a caller who has used too much. It is RATE_LIMITED.
type Exceeded struct {
	// After is how long the caller has to wait until the same is allowed.
	After time.Duration

	cause *fault.Error
}

func (e *Exceeded) Error() string { return e.cause.Error() }
func (e *Exceeded) Unwrap() error { return e.cause }

// Request counts one request of the caller. The error is an *Exceeded: the
// request is not counted and must not be carried out.
func (l *Limiter) Request(ctx context.Context, who auth.Principal) error {
	return l.take(ctx, who, counts{requests: 1})
}

// Spend counts the cost of a request that was counted, before it is carried
// out. The error is an *Exceeded: nothing was counted. A cost of more than a
// minute's is allowed to a caller who has used nothing lately.
func (l *Limiter) Spend(ctx context.Context, who auth.Principal, cost int) error {
	return l.take(ctx, who, counts{cost: int64(cost)})
}

// Peek returns the error that Request would, and counts nothing.
func (l *Limiter) Peek(ctx context.Context, who auth.Principal) error {
	if l == nil || l.opts.Measure {
		return nil
	}
	class := classOf(who)
	rate := l.rates[class]
	if rate.Requests == 0 {
		return nil
	}
	if wait := l.ahead(keyOf(class, who, Client(ctx)), time.Now()); wait > 0 {
		return exceeded(rate, wait)
	}
	return nil
}

func (l *Limiter) take(ctx context.Context, who auth.Principal, n counts) error {
	if l == nil {
		return nil
	}
	class := classOf(who)
	rate := l.rates[class]
	if rate == (Rate{}) {
		return nil
	}
	wait := l.count(keyOf(class, who, Client(ctx)), rate, n, time.Now())
	if wait == 0 {
		return nil
	}
	if l.opts.Measure {
		l.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a request beyond the rate limit was let pass",
			slog.String("class", class.String()), slog.String("user", who.Subject), slog.String("remote_ip", Client(ctx).String()))
		return nil
	}
	return exceeded(rate, wait)
}

func exceeded(rate Rate, wait time.Duration) *Exceeded {
	cause := fault.New(fault.RateLimited, "too many requests: %s a minute are allowed; try again in %d s", rate, Seconds(wait))
	cause.RetryAfter = Seconds(wait)
	return &Exceeded{After: wait, cause: cause}
}

// count notes the use, or returns how long to wait with it.
func (l *Limiter) count(k key, rate Rate, n counts, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.at(k, now)
	wait := u.take(rate, n, l.moment(now))
	if wait == 0 {
		l.tell(k, u, n)
	}
	return wait
}

// moment is a time on the clock by which use is counted: that of the process,
// which nobody sets. By the time of day a clock that is set back would shut out
// for as long everybody who has used something.
func (l *Limiter) moment(at time.Time) int64 { return int64(at.Sub(l.born)) }

// at returns the caller's usage. It is called with mu held.
func (l *Limiter) at(k key, now time.Time) *usage {
	if u := l.used[k]; u != nil {
		return u
	}
	if len(l.used) >= l.opts.Callers {
		l.makeRoom(l.moment(now))
	}
	u := &usage{}
	l.used[k] = u
	return u
}

// makeRoom forgets one of a few callers: the one whose use will be forgotten
// first anyway.
func (l *Limiter) makeRoom(now int64) {
	const sample = 16
	var victim key
	var least int64
	seen := 0
	for k, u := range l.used {
		if until := u.until(); seen == 0 || until < least {
			victim, least = k, until
		}
		if seen++; seen == sample || least <= now {
			break
		}
	}
	delete(l.used, victim)
}

// sweep forgets those who have used nothing lately.
func (l *Limiter) sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, u := range l.used {
		if u.untold == (counts{}) && u.until() <= l.moment(now) {
			delete(l.used, k)
		}
	}
}

// Callers is how many callers are being counted.
func (l *Limiter) Callers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.used)
}

// Seconds is a time to wait as Retry-After has it: whole seconds, at least one.
func Seconds(wait time.Duration) int {
	return max(1, int((wait+time.Second-1)/time.Second))
}

// class is what is known of a caller.
type class uint8

const (
	anonymous class = iota
	user
	service
	wrongFrom // the passwords from an address
	wrongFor  // the passwords for an account
)

// String returns the class's word in the log.
func (c class) String() string {
	return [...]string{"anonymous", "user", "service", "wrong passwords from", "wrong passwords for"}[c]
}

func classOf(who auth.Principal) class {
	switch {
	case who.Anonymous():
		return anonymous
	case who.Roles.Has(schema.Service):
		return service
	}
	return user
}

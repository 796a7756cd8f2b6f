package bus

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"tidings/fault"
)

// A request that is sent again after a silence may come twice: to one who answers,
// and, when what was sent first has lain about in a process or a line that stood
// still, to one who goes on with it after its caller was told what came of it. What
// the second one did it finds, but not that it was refused. So a request says how
// long it is good, and whoever has it for longer does nothing more about it.

const (
	// headerSent is when a request was sent, in milliseconds since 1970 by the
	// caller's clock; headerGood for how many milliseconds from then on it is the
	// only one of its kind that is under way.
	headerSent = "Tidings-Sent"
	headerGood = "Tidings-Good"
	// headerStale marks the answer of who had it for longer.
	headerStale = "Tidings-Stale"
)

// HeaderRefused marks an answer that is no error and yet says that something of what
// was asked for was not done: "1". While the request may still be carried out by who
// had it before, such an answer is held back as an error is (Persist).
const HeaderRefused = "Tidings-Refused"

// refuses reports whether a call came to a refusal: of the bus, or in the answer.
func refuses(m Message, err error) bool { return err != nil || m.Header.Get(HeaderRefused) != "" }

// staleMargin is how much before a request is sent again it ceases to be good: by
// so much clocks may differ.
const staleMargin = 500 * time.Millisecond

// ErrStale is in the errors of who found a request too old: nothing was done about
// it since.
var ErrStale = errors.New("the request has lain about and may have been sent again")

// good is until when a request is good, or a lease.
type good struct {
	until  atomic.Int64 // nanoseconds since 1970 by this host's clock
	stale  atomic.Bool  // somebody asked when it was over
	within *good        // what a lease was taken under, and ends with; nil for none
}

func goodTo(until time.Time) *good {
	g := &good{}
	g.until.Store(until.UnixNano())
	return g
}

// left is for how long it is good; the clock is the wall's, which goes on while a
// process stands still.
func (g *good) left() time.Duration {
	left := time.Duration(g.until.Load() - time.Now().UnixNano())
	if g.within != nil {
		left = min(left, g.within.left())
	}
	return left
}

// note says to those who look that somebody asked when it was over.
func (g *good) note() {
	for ; g != nil; g = g.within {
		if g.left() <= 0 {
			g.stale.Store(true)
		}
	}
}

type goodKey struct{}

// Stale returns a fault, with ErrStale in it, when the request for which ctx works
// is too old for it to change anything, or the Lease is over under which it works:
// what was read of the log before the call may still be relied on, what is read after
// it may not. It is nil where a request is not sent again. It rests on the clocks of
// both hosts: where the worker's is behind by more than half a second, a request that
// has lain about on the way, before it came to the process, may pass as good when it
// is not; where it is ahead, requests are sent once more.
func Stale(ctx context.Context) error {
	g, _ := ctx.Value(goodKey{}).(*good)
	if g == nil || g.left() > 0 {
		return nil
	}
	g.note()
	return staleError()
}

func staleError() *fault.Error {
	return fault.Wrap(ErrStale, fault.Unavailable, "the request came too late; nothing was changed")
}

// goodFor stamps a request that is sent now and is good for so long.
func goodFor(h Header, d time.Duration) Header {
	if h == nil {
		h = Header{}
	}
	h[headerSent] = []string{strconv.FormatInt(time.Now().UnixMilli(), 10)}
	h[headerGood] = []string{strconv.FormatInt(max(1, d.Milliseconds()), 10)}
	return h
}

// goodStill is for how long the request is good for which ctx works; false when
// there is none, or when it is not sent again.
func goodStill(ctx context.Context) (left time.Duration, bounded bool) {
	g, _ := ctx.Value(goodKey{}).(*good)
	if g == nil {
		return 0, false
	}
	return g.left(), true
}

// goodUntil reads the stamp of a request that came then; nil when there is none. Of
// one that comes from a host whose clock is ahead it counts from its coming.
func goodUntil(h Header, came time.Time) *good {
	if h.Get(headerSent) == "" {
		return nil
	}
	sent, err := strconv.ParseInt(h.Get(headerSent), 10, 64)
	if err != nil {
		return nil
	}
	for_, err := strconv.ParseInt(h.Get(headerGood), 10, 64)
	if err != nil || for_ <= 0 || for_ > time.Hour.Milliseconds() {
		return nil
	}
	begins := time.UnixMilli(sent)
	if came = came.Round(0); came.Before(begins) {
		begins = came
	}
	return goodTo(begins.Add(time.Duration(for_) * time.Millisecond))
}

// sends are the times that a request was sent.
type sends struct {
	silence time.Duration // after which it is sent again; 0: it is not
	// unstamped: clocks differ so much that they say nothing.
	unstamped bool
	// short: the request on whose account it is sent was good for less.
	short bool
	// open is until when one that got no answer may still be carried out.
	open time.Time
}

// stamp says for how long the request is good: for no longer than the one on whose
// account it is sent, of which the same is true.
func (s *sends) stamp(ctx context.Context, h Header) Header {
	if s.silence == 0 {
		return h
	}
	h = maps.Clone(h) // the caller's may be sent again
	if s.unstamped {
		return h
	}
	long := max(s.silence-staleMargin, s.silence/2)
	left, bounded := goodStill(ctx)
	if s.short = bounded && left < long; s.short {
		long = left
	}
	return goodFor(h, long)
}

// failed notes how a time ended that began at sent: without an answer, or as too
// old although it has just been sent.
func (s *sends) failed(err error, sent time.Time) {
	if errors.Is(err, ErrStale) {
		switch {
		case s.short: // there was no more to be had
		case time.Since(sent) < s.silence/3: // it is good for half of it at least
			s.unstamped = true
		default: // it takes longer than it was given
			s.silence *= 2
		}
		return
	}
	if s.silence > 0 && unsure(err) && !s.unstamped {
		s.open = later(s.open, sent.Add(s.silence))
	}
	if fault.Is(err, fault.Timeout) {
		s.silence *= 2
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settled reports whether an answer can be believed: whether none of the earlier
// times can still be carried out after it. Until a refusal can be believed it waits;
// then the request is to be sent again. Where there is no time for that the answer
// is that nobody knows. A refusal that is no error has none.
func (s *sends) settled(ctx context.Context, refused bool, err error) (bool, error) {
	left := time.Until(s.open)
	if left <= 0 || !refused {
		return true, err
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return false, nil
	case <-ctx.Done():
		if err == nil {
			err = ctx.Err()
		}
		return true, fault.Wrap(err, fault.Timeout, "it was refused, but whether it was done before, or will be by who had it first, is not known")
	}
}

package bus

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

// Patience is how callers bear it that a service is away for a moment: that
// nobody listens, or that the one who had taken a request has died with it. They
// send it again, with pauses that grow, until it is answered. It is for requests
// that may be sent again, and is shared by all who wait for the same services. It
// is safe for concurrent use. Nil has no patience.
//
// Nobody waits for a service that is long gone: who comes when it has not answered
// anybody for as long as patience lasts is told so at once, as the circuit breaker
// says. Nor do more wait than there is room for.
type Patience struct {
	// For is how long a request is sent again, counted from its first time.
	For time.Duration
	// Most is how many requests wait, and Bytes how much they hold; what comes on
	// top is not sent again. Zero means 10,000 and 64 MiB.
	Most  int
	Bytes int

	repeated atomic.Uint64
	troubled atomic.Bool // somebody is away
	mu       sync.Mutex
	gone     map[string]*absence // by class of subjects
	waiting  int
	bytes    int
}

// absence is from when to when a class of subjects has not answered.
type absence struct {
	first, last time.Time
	over        chan struct{} // closed when it answers somebody
}

const (
	// The pauses between two times that a request is sent.
	minPatience, maxPatience = 50 * time.Millisecond, time.Second
	// What was known of a service of which nobody has asked for so many times as
	// long as patience lasts says nothing any more.
	forgotten = 4
	// By so much those who wait spread, for each of them, when the service is back.
	spread = 100 * time.Microsecond
)

// Asked is a request that may be sent several times.
type Asked struct {
	Subject string
	// Silence is after how long without an answer it is sent again; it doubles
	// each time. Zero: it is sent again only when it certainly did not arrive. Who
	// answers asks Stale before it changes anything.
	Silence time.Duration
	// Make makes the request. With again it may have been carried out before.
	Make func(again bool) (Header, []byte, error)
}

// Persist is Call for a request that is sent again while the service is away, as
// p says. Errors are those of Call; UNAVAILABLE means that it was not carried out
// any of the times, and TIMEOUT that it may have been. On account of a request that
// is too old (Stale) nothing is sent, nor sent again. Without a deadline
// Options.CallTimeout holds, and p.For on top of it.
func (b *Bus) Persist(ctx context.Context, p *Patience, a Asked) (Message, error) {
	if err := Stale(ctx); err != nil { // the request on whose account it is sent came too late
		return Message{}, err
	}
	if p == nil || p.For <= 0 {
		h, data, err := a.Make(false)
		if err != nil {
			return Message{}, err
		}
		return b.Call(ctx, a.Subject, h, data)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.opts.CallTimeout+p.For)
		defer cancel()
	}
	class := b.breakers.class(a.Subject)
	w := wait{p: p, class: class, began: time.Now()}
	defer w.end()
	again, times := false, sends{silence: a.Silence}
	for {
		h, data, err := a.Make(again)
		if err != nil {
			return Message{}, err
		}
		sent := time.Now()
		m, err := b.call(ctx, a.Subject, times.stamp(ctx, h), data, times.silence)
		if !away(err) {
			p.heard(class, err)
			settled, err := times.settled(ctx, refuses(m, err), err)
			switch {
			case settled && err != nil:
				return Message{}, err
			case settled:
				return m, nil
			}
			p.repeated.Add(1)
			continue
		}
		again = again || unsure(err)
		times.failed(err, sent)
		if !w.more(ctx, len(data)) || Stale(ctx) != nil {
			return Message{}, unknown(err, again)
		}
		p.repeated.Add(1)
	}
}

// unknown is the error of a request that is not sent again; with again it may have
// been carried out before.
func unknown(err error, again bool) error {
	if again && !fault.Is(err, fault.Timeout) {
		return fault.Wrap(err, fault.Timeout, "the service went away, and whether it was done before is not known")
	}
	return err
}

// away reports whether an error may be gone in a moment.
func away(err error) bool { return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) }

// unsure reports whether the request may have been carried out.
func unsure(err error) bool {
	return fault.Is(err, fault.Timeout) || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrDisconnected)
}

// heard notes a sign of life.
func (p *Patience) heard(class string, err error) {
	if err != nil && errors.Is(err, context.Canceled) || !p.troubled.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.gone[class]; g != nil {
		close(g.over)
		delete(p.gone, class)
		p.troubled.Store(len(p.gone) > 0)
	}
}

// wait is one request that waits.
type wait struct {
	p     *Patience
	class string
	began time.Time
	size  int // it is counted; 0: not yet
	times int
}

// more waits for a while and reports whether the request is to be sent again.
func (w *wait) more(ctx context.Context, size int) bool {
	pause := min(minPatience<<min(w.times, 10), maxPatience)
	pause = pause/2 + rand.N(pause/2)
	w.times++
	if ctx.Err() != nil || time.Since(w.began)+pause > w.p.For {
		return false
	}
	over, waiting := w.enter(size)
	if over == nil {
		return false
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-over: // all at once would be too much
		w.times = 0
		t.Reset(rand.N(min(pause, time.Duration(waiting)*spread)))
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// enter notes that the service is away, and takes a place among those who wait
// for it. It returns how many they are, and what is closed when it is back; nil
// when it is long gone, or when there is no place.
func (w *wait) enter(size int) (over <-chan struct{}, waiting int) {
	p, now := w.p, time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.gone[w.class]
	if g == nil || now.Sub(g.last) > forgotten*p.For { // nobody has asked for a while
		if p.gone == nil {
			p.gone = map[string]*absence{}
		}
		if g != nil {
			close(g.over)
		}
		g = &absence{first: now, over: make(chan struct{})}
		p.gone[w.class] = g
		p.troubled.Store(true)
	}
	g.last = now
	if w.size > 0 {
		return g.over, p.waiting
	}
	size = max(size, 1)
	if w.began.Sub(g.first) > p.For || p.waiting >= cmp.Or(p.Most, 10_000) || p.bytes+size > cmp.Or(p.Bytes, 64<<20) {
		return nil, 0
	}
	w.size = size
	p.waiting++
	p.bytes += size
	return g.over, p.waiting
}

// end gives the place back.
func (w *wait) end() {
	if w.size == 0 {
		return
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.waiting--
	w.p.bytes -= w.size
}

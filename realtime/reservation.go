package realtime

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
)

const (
	// maxReserved bounds the streams that are promised and not open yet.
	maxReserved = 10_000
	// maxWaiting bounds in bytes what waits for one of them.
	maxWaiting = 256 << 10
)

// reservation is an event stream in single connection mode: promised, then
// open, then over. Until it is open operations wait; they are begun when it is.
//
// mu is below the engine's locks, like a socket's, and above a stream's.
type reservation struct {
	hub    *Hub
	name   string      // what it is called on the bus; the token cannot be told from it
	caller string      // whose connection it counts as
	expiry *time.Timer // of the promise
	shut   func()      // ends its subject on the bus

	mu      sync.Mutex
	who     auth.Principal // whose it is
	over    bool
	waiting []*order
	bytes   int     // of these
	stream  *stream // nil: not open yet
	ops     map[string]*posted
}

// nameOf is what the stream of a token is called on the bus.
func nameOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// newToken is an entrance ticket: 128 bits and more, of letters that fit a URL.
func newToken() string { return rand.Text() }

// isToken tells our tokens from the credentials that some clients put into URLs.
func isToken(s string) bool {
	const length = 26
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return len(s) == length
}

func newReservation(h *Hub, name string, who auth.Principal, caller string) *reservation {
	return &reservation{hub: h, name: name, who: who, caller: caller, shut: func() {}}
}

// reserve registers a reservation, whose caller has been claimed, here and on
// the bus. One that is refused must be forgotten all the same.
func (h *Hub) reserve(ctx context.Context, r *reservation) error {
	if h.opts.Bus != nil {
		desk, err := h.openDesk()
		if err != nil {
			return err
		}
		if r.shut, err = desk.Open(ctx, h.opts.Bus.Subjects().Events(r.name)); err != nil {
			r.shut = func() {}
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return errDraining
	}
	if len(h.reservations) >= maxReserved+len(h.conns) {
		return errFull
	}
	h.reservations[r.name] = r
	return nil
}

// openDesk returns the desk that answers on the bus.
func (h *Hub) openDesk() (*bus.Desk, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil, errDraining
	}
	if h.desk == nil {
		h.desk = h.opts.Bus.NewDesk(h.answer)
		h.answering.Go(func() { h.desk.Run(h.life) })
	}
	return h.desk, nil
}

func (h *Hub) reserved(name string) *reservation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reservations[name]
}

// promise keeps the reservation for so long.
func (r *reservation) promise(long time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.expiry = time.AfterFunc(long, r.expire)
	}
}

// forget takes a reservation that is over out of the hub.
func (r *reservation) forget() {
	h := r.hub
	if r.expiry != nil {
		r.expiry.Stop()
	}
	h.mu.Lock()
	delete(h.reservations, r.name)
	h.mu.Unlock()
	r.shut()
	h.release(r.caller)
}

// do carries out an errand.
func (r *reservation) do(e errand) (*handover, error) {
	switch e.Do {
	case doStart:
		return &handover{}, r.start(e.Order)
	case doStop:
		return &handover{}, r.stop(e.Who, e.ID)
	case doRenew:
		return &handover{}, r.renew(e.Who)
	}
	return r.give(e)
}

// admits returns why the caller may not use the stream, nil when it may.
func (r *reservation) admitsLocked(who auth.Principal) error {
	if r.over {
		return errNoStream
	}
	if err := r.hub.valid(r.who); err != nil {
		return err
	}
	if who.Subject != r.who.Subject {
		return fault.New(fault.Forbidden, "the event stream is another caller's: send the credentials that it was reserved with")
	}
	return nil
}

// openLocked returns why the stream may not be opened, nil when it may. A
// ticket lets in who shows no credentials, as EventSource cannot.
func (r *reservation) openLocked(e errand) error {
	if e.Ticket && !r.over {
		e.Who = r.who
	}
	if err := r.admitsLocked(e.Who); err != nil {
		return err
	}
	if r.stream != nil {
		return fault.New(fault.Conflict, "the event stream is open already")
	}
	return nil
}

// give hands the promised stream to another process.
func (r *reservation) give(e errand) (*handover, error) {
	r.mu.Lock()
	if err := r.openLocked(e); err != nil {
		r.mu.Unlock()
		return nil, err
	}
	r.over = true
	got := &handover{Who: r.who, Waiting: r.waiting}
	r.mu.Unlock()
	r.forget()
	return got, nil
}

// expire ends a promise that nobody came for.
func (r *reservation) expire() {
	r.mu.Lock()
	idle := r.stream == nil && !r.over
	r.over = r.over || idle
	r.mu.Unlock()
	if idle {
		r.forget()
	}
}

// attach makes st the stream, and returns what begins the operations that
// waited for it.
func (r *reservation) attach(st *stream, e errand) (begin []func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.openLocked(e); err != nil {
		return nil, err
	}
	return r.attachLocked(st), nil
}

func (r *reservation) attachLocked(st *stream) (begin []func()) {
	r.stream = st
	for _, o := range r.waiting {
		op := r.registerLocked(o)
		begin = append(begin, func() { op.run(o) })
	}
	r.waiting = nil
	return begin
}

// end ends what an open stream carries, when it is over.
func (r *reservation) end() {
	r.mu.Lock()
	r.over = true
	ops := r.ops
	r.ops = nil
	for _, op := range ops {
		op.done = true
	}
	r.mu.Unlock()
	for _, op := range ops {
		op.release()
	}
	r.forget()
}

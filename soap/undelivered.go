package soap

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tidings/bus"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/quota"
	"tidings/resource"
)

// Some clients send a call again by themselves when its connection broke before
// the answer came (those of Java do), and their programs never learn of it. Such
// a call needs no key: each call gets a name from its gateway, under which the
// log knows what it changed, and the gateways remember for a while the names of
// those whose answer did not reach the caller. When the same bytes come from the
// same caller again, they get the same name, and the worker answers with what it
// finds. Whoever has got the answer and sends an equal call means another one.

const (
	// undeliveredFor is how long a call whose answer did not reach the caller is
	// remembered.
	undeliveredFor = 30 * time.Second
	// maxUndelivered bounds how many are; of more the oldest are forgotten.
	maxUndelivered = 10_000
)

// The headers by which a gateway names a call.
const (
	headerCommand = "Tidings-Command" // its name
	headerSince   = "Tidings-Since"   // a position of the log from before it came first
	headerAgain   = "Tidings-Again"   // "1": it has been sent to a worker before
	// Of the answer to a call that changes something: "1", or "unknown" when it
	// cannot be told whether it has.
	headerChanges  = "Tidings-Changes"
	changes        = "1"
	changesUnknown = "unknown"
)

// Undelivered remembers the calls whose answer did not reach the caller, for all
// gateways together. Run shares what each has noticed; without it each knows its
// own. It is safe for concurrent use, and serves any number of Gateways.
type Undelivered struct {
	bus      *bus.Bus
	position func() uint64
	log      *slog.Logger
	self     string

	count   atomic.Int32 // of calls, for those who need not look
	seed    maphash.Seed
	mu      sync.Mutex
	calls   map[fingerprint][]lostCall // equal ones in the order of their coming
	queue   []lostPlace                // of all of them, in that order
	pending map[uint64][]*naming       // the calls whose fate is open, by a hash of their bytes
}

// fingerprint is equal for the same bytes from the same caller.
type fingerprint [sha256.Size]byte

// lostCall is a call whose answer did not reach the caller.
type lostCall struct {
	id    string
	since uint64
	until time.Time
}

// lostPlace is where a lostCall is found.
type lostPlace struct {
	call fingerprint
	id   string
}

// NewUndelivered returns a memory that is empty. The position is one that the log
// has reached, such as where the process's view stands.
func NewUndelivered(b *bus.Bus, position func() uint64, log *slog.Logger) *Undelivered {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Undelivered{bus: b, position: position, log: log, self: resource.NewCommandID(), seed: maphash.MakeSeed(),
		calls: map[fingerprint][]lostCall{}, pending: map[uint64][]*naming{}}
}

// Run hears what other gateways notice, until ctx ends.
func (u *Undelivered) Run(ctx context.Context) error {
	return u.bus.Subscribe(ctx, u.subject(), nil, func(m bus.Message) {
		var n notice
		if err := json.Unmarshal(m.Data, &n); err != nil || len(n.Call) != len(fingerprint{}) || n.From == u.self {
			return
		}
		if n.Again {
			u.forget(fingerprint(n.Call), n.ID)
			return
		}
		u.keep(fingerprint(n.Call), lostCall{id: n.ID, since: n.Since, until: time.Now().Add(undeliveredFor)})
	})
}

func (u *Undelivered) subject() string { return u.bus.Subjects().Control("undelivered") }

// notice is what gateways tell each other (docs/bus.md).
type notice struct {
	From  string `json:"from"`
	Call  []byte `json:"call"`
	ID    string `json:"id"`
	Since uint64 `json:"since,omitempty"`
	Again bool   `json:"again,omitempty"` // the call has come again
}

func (u *Undelivered) tell(n notice) {
	n.From = u.self
	body, _ := json.Marshal(n) // strings and a number always encode
	if err := u.bus.Publish(u.subject(), nil, body); err != nil {
		u.log.LogAttrs(context.Background(), slog.LevelDebug, "a lost answer was not told to other gateways", slog.Any("error", err))
	}
}

// keep remembers a call.
func (u *Undelivered) keep(call fingerprint, c lostCall) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep(time.Now())
	u.remove(call, c.id)
	u.calls[call] = append(u.calls[call], c)
	u.queue = append(u.queue, lostPlace{call, c.id})
	u.count.Add(1)
}

// sweep forgets the calls that are over, and the oldest when there are too many.
// It is called with mu held.
func (u *Undelivered) sweep(now time.Time) {
	for len(u.queue) > 0 {
		oldest := u.queue[0]
		list := u.calls[oldest.call]
		i := indexOf(list, oldest.id)
		if i >= 0 && now.Before(list[i].until) && len(u.queue) < maxUndelivered {
			break
		}
		u.remove(oldest.call, oldest.id)
		u.queue = u.queue[1:]
	}
}

// again returns the oldest of the equal calls that have lost their answers, and
// forgets it: each comes again by itself.
func (u *Undelivered) again(call fingerprint) (c lostCall, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep(time.Now())
	list := u.calls[call]
	if len(list) == 0 || time.Now().After(list[0].until) {
		return c, false
	}
	c = list[0]
	u.remove(call, c.id)
	return c, true
}

func (u *Undelivered) forget(call fingerprint, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.remove(call, id)
}

// remove takes a call out; its place in the queue goes when its turn comes. It is
// called with mu held.
func (u *Undelivered) remove(call fingerprint, id string) {
	list := u.calls[call]
	i := indexOf(list, id)
	if i < 0 {
		return
	}
	u.count.Add(-1)
	if len(list) == 1 {
		delete(u.calls, call)
		return
	}
	u.calls[call] = slices.Delete(list, i, i+1)
}

func indexOf(list []lostCall, id string) int {
	return slices.IndexFunc(list, func(c lostCall) bool { return c.id == id })
}

// naming is the name of one call on its way.
type naming struct {
	all   *Undelivered
	print func() fingerprint
	hash  uint64
	conn  *proc.Conn
	ctx   context.Context
	id    string
	since uint64
	again bool

	asked   atomic.Bool // its answer has not begun
	noting  sync.Once
	settled sync.Once
}

// name names a call that a worker is about to get with the header h: anew, or as
// it was named when its answer was lost. It is nil when u is.
func (u *Undelivered) name(r *http.Request, h bus.Header, envelope []byte) *naming {
	if u == nil {
		return nil
	}
	shown := h[headerCertificate]
	n := &naming{all: u, conn: proc.ConnOf(r), ctx: r.Context(), hash: maphash.Bytes(u.seed, envelope),
		print: sync.OnceValue(func() fingerprint { return printOf(r, shown, envelope) })}
	n.asked.Store(true)
	for _, other := range u.alike(n) {
		// A client that sends again at once may be faster than what tells that its
		// connection has ended.
		if other.gone() && other.print() == n.print() {
			other.lost()
		}
	}
	n.id, n.since = resource.NewCommandID(), u.position()
	if u.count.Load() > 0 {
		if lost, known := u.again(n.print()); known {
			n.id, n.since, n.again = lost.id, lost.since, true
			call := n.print()
			u.tell(notice{Call: call[:], ID: n.id, Again: true})
		}
	}
	u.enter(n)
	return n
}

// alike returns the calls whose fate is open and that may be the same.
func (u *Undelivered) alike(n *naming) []*naming {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.pending[n.hash])
}

// enter adds a call whose fate is open.
func (u *Undelivered) enter(n *naming) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pending[n.hash] = append(u.pending[n.hash], n)
}

// gone reports whether the caller has gone without its answer.
func (n *naming) gone() bool {
	if !n.asked.Load() {
		return n.conn.Gone(false)
	}
	// A client that has its answer may go, and does so by the time that this asks:
	// it has gone without when there is still none.
	return (n.conn.Gone(true) || n.ctx.Err() != nil) && n.asked.Load()
}

// abandoned returns an error when the caller has gone already. The call is not
// carried out then: the same caller may have sent it again, and been served.
func (n *naming) abandoned() error {
	if n != nil && n.gone() {
		return context.Canceled
	}
	return nil
}

// settle takes note that the fate is known.
func (n *naming) settle() {
	if n == nil {
		return
	}
	n.asked.Store(false)
	n.settled.Do(func() {
		u := n.all
		u.mu.Lock()
		defer u.mu.Unlock()
		rest := slices.DeleteFunc(u.pending[n.hash], func(other *naming) bool { return other == n })
		if len(rest) == 0 {
			delete(u.pending, n.hash)
			return
		}
		u.pending[n.hash] = rest
	})
}

// printOf is the fingerprint of a call: what says who sends it, the certificates
// that were shown to a proxy included, and what it says.
func printOf(r *http.Request, shown []string, envelope []byte) (call fingerprint) {
	h := sha256.New()
	for _, part := range [...]string{quota.Client(r.Context()).String(), r.URL.Path,
		r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"), r.Header.Get("SOAPAction"), r.Header.Get("Authorization")} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	for _, certificate := range shown {
		fmt.Fprintf(h, "%d:%s", len(certificate), certificate)
	}
	h.Write(envelope)
	h.Sum(call[:0])
	return call
}

// set tells the worker the name.
func (n *naming) set(h bus.Header) {
	if n == nil {
		return
	}
	h.Set(headerCommand, n.id)
	h.Set(headerSince, strconv.FormatUint(n.since, 10))
	if n.again {
		h.Set(headerAgain, "1")
	}
}

// lost remembers that the answer did not reach the caller.
func (n *naming) lost() {
	if n == nil {
		return
	}
	n.noting.Do(func() {
		call := n.print()
		n.all.keep(call, lostCall{id: n.id, since: n.since, until: time.Now().Add(undeliveredFor)})
		n.all.tell(notice{Call: call[:], ID: n.id, Since: n.since})
	})
	n.settle()
}

// deliver writes an answer, and takes note when it does not arrive, or when the
// caller will have to send the call again to learn how it fared. Answers to calls
// that change nothing need not arrive.
func (n *naming) deliver(w http.ResponseWriter, r *http.Request, answer bus.Message) {
	what := answer.Header.Get(headerChanges)
	if n == nil || what == "" {
		n.settle()
		reply(w, answer, len(answer.Data))
		return
	}
	if what == changesUnknown {
		n.lost()
	}
	end := n.settle
	if n.conn != nil {
		n.print() // the envelope need not be kept for it
		end = n.conn.Answer(r.Context(), n.fate)
	}
	n.asked.Store(false)
	last := max(0, len(answer.Data)-1)
	reply(w, answer, last)
	if r.Context().Err() != nil { // the caller has gone meanwhile
		n.lost()
	}
	end() // who has not got the last byte has no answer
	_, _ = w.Write(answer.Data[last:])
}

func (n *naming) fate(lost bool) {
	if lost {
		n.lost()
	}
	n.settle()
}

// markChanges says in the header of an answer that the call is one that changes
// something, and whether something of that was refused; f is how it failed, or nil.
func (r *request) markChanges(h bus.Header, f *failure) {
	if (f != nil || r.refused) && (r.op == nil || r.op.mutation) {
		h.Set(bus.HeaderRefused, "1")
	}
	switch {
	case r.op == nil || !r.op.mutation:
	case f != nil && f.ours():
		h.Set(headerChanges, changesUnknown)
	default:
		h.Set(headerChanges, changes)
	}
}

type againKey struct{}

// cameAgain reports whether a gateway has said that the same caller has sent the
// same bytes before and got no answer.
func cameAgain(ctx context.Context) bool { return ctx.Value(againKey{}) != nil }

// sentOf reads the name that a gateway has given a call; nil without one.
func sentOf(h bus.Header) *graphql.Sent {
	id := h.Get(headerCommand)
	since, err := strconv.ParseUint(h.Get(headerSince), 10, 64)
	if id == "" || err != nil {
		return nil
	}
	return &graphql.Sent{ID: id, Since: since, Again: h.Get(headerAgain) == "1"}
}

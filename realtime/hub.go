// Package realtime holds connections: protocols, queues, resume, drain.
//
// It speaks graphql-transport-ws and its predecessor graphql-ws over WebSocket
// (RFC 6455) and graphql-sse in both of its modes over Server-Sent Events, and
// knows neither what an operation means nor where events come from: that is
// behind Engine. It is the door for gorilla/websocket (the handshake and the
// reading; frames are written here, because equal payloads are shared between
// sockets and frames that wait together leave in one write) and for r3labs/sse
// (the tests' reader).
package realtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/internal/trace"
)

// Engine runs operations. It is implemented by *graphql.Engine.
type Engine interface {
	// Kind returns "query", "mutation" or "subscription", and an error when the
	// request cannot be read or planned.
	Kind(ctx context.Context, r graphql.Request) (string, error)
	Execute(ctx context.Context, who auth.Principal, r graphql.Request) graphql.Response
	Subscribe(ctx context.Context, who auth.Principal, r graphql.Request, after string, s graphql.Sink) (stop func(), failed *graphql.Response)
}

// Options tunes a Hub. The zero value is good.
type Options struct {
	// AllowedOrigins lists the web origins, such as "https://app.example.com",
	// that may open WebSockets beside the service's own; "*" allows all. Clients
	// that send no Origin are no browsers and are always allowed.
	AllowedOrigins []string
	// InitTimeout is how long a socket may take to send connection_init. Zero means 10 s.
	InitTimeout time.Duration
	// PingEvery is how often a socket is pinged; one that stays silent for two
	// and a half such periods is dropped. Zero means 20 s.
	PingEvery time.Duration
	// KeepAlive is how often an event stream gets a heartbeat. Zero means
	// 12 s: below the idle time-outs of the usual proxies.
	KeepAlive time.Duration
	// WriteTimeout bounds each write of up to 64 KiB. Zero means 10 s.
	WriteTimeout time.Duration
	// MaxMessage bounds one message or request body, in bytes. Zero means 1 MiB.
	MaxMessage int
	// MaxQueue bounds what waits to be written to one connection, in bytes; a
	// single message may be larger while nothing else waits. Zero means 1 MiB.
	MaxQueue int
	// MaxOperations bounds the operations that run on one socket. Zero means 100.
	MaxOperations int
	// MaxConnections bounds the sockets and streams of the hub; at the bound they
	// are refused, and Crowded says so. Zero means no bound.
	MaxConnections int
	// MaxStrangers bounds the sockets that have not yet shown who they are, which then
	// do not count for MaxConnections: for one too many the oldest of them is cut off.
	// Zero means that they count as all others do.
	MaxStrangers int
	// MaxPerAddress bounds the sockets and streams from one address, of IPv6 from
	// one network of 64 bits, whoever the callers are. Zero means no bound.
	MaxPerAddress int
	// MaxMessages bounds the messages a second from one socket: one that sends
	// more, beyond those of two seconds at once, is read so much more slowly. Zero
	// means no bound.
	MaxMessages int
	// MaxPerCaller bounds the sockets and streams of one caller: of a subject, or
	// of an anonymous caller's address. Zero means no bound.
	MaxPerCaller int
	// Admits returns why a caller who shows credentials over a socket may not connect:
	// the socket is closed with 4403. Nil admits everybody. Event streams are for who
	// serves the hub to refuse, before it.
	Admits func(auth.Principal) error
	// Ready says whether the process can serve yet; nil means yes. While it
	// returns an error (the view has not caught up with the log, say),
	// connections are refused as while the hub drains, so that clients try again.
	Ready func() error
	// DrainWindow is the time over which Drain spreads the closing. Zero means 30 s.
	DrainWindow time.Duration
	// MaxAge is how old a connection gets: between half of it and the whole, then
	// it is ended as by Drain, so that clients spread over the processes that
	// there are. Zero means that age does not matter.
	MaxAge time.Duration
	// Retry is the reconnection time that event streams are told. Zero means 1 s.
	Retry time.Duration
	// Reserved is how long an event stream in single connection mode is kept for
	// the client that reserved it. Zero means 30 s.
	Reserved time.Duration
	// Bus carries to the process that holds such a stream what reaches another;
	// nil: there is one process.
	Bus *bus.Bus
	// Memory tells how much of the memory that the process may have is in use, of 1:
	// above 0.85 no others are taken (but Crowded says nothing), and above 0.92 the
	// clients for whom most waits are cut off. Nil: there is enough.
	Memory func() float64
	// Metrics tell what the hub has and had to do; nil: nothing is told.
	Metrics *proc.Metrics
	// Tracer reads in which traces operations are; nil: nothing is traced.
	Tracer *trace.Tracer
	// Logger; nil means silent.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.InitTimeout = cmp.Or(o.InitTimeout, 10*time.Second)
	o.PingEvery = cmp.Or(o.PingEvery, 20*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 12*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.MaxMessage = cmp.Or(o.MaxMessage, 1<<20)
	o.MaxQueue = cmp.Or(o.MaxQueue, 1<<20)
	o.MaxOperations = cmp.Or(o.MaxOperations, 100)
	o.DrainWindow = cmp.Or(o.DrainWindow, 30*time.Second)
	o.Retry = cmp.Or(o.Retry, time.Second)
	o.Reserved = cmp.Or(o.Reserved, 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Hub holds the live connections of a process. Its methods may be called
// concurrently. Switch gives it another engine. Close or Drain ends it.
type Hub struct {
	verifier *auth.Verifier
	opts     Options
	stats    counters
	name     string        // of the process, in the names of its connections
	numbers  atomic.Uint64 // of connections
	partings sparing       // lines of the log
	refusals sparing
	bufs     buffers
	writers  []*writer
	writer   atomic.Uint32 // the one of the last socket
	parking  parking
	wsBufs   sync.Pool // gorilla's write buffers: used by its handshake and protocol errors only

	// life is the context of every operation: a socket outlives the request
	// that opened it, and net/http cancels a request's context when its handler
	// returns. It ends when the hub gives up waiting.
	life context.Context
	born time.Time
	kill context.CancelFunc

	switching sync.Mutex
	gate      sync.RWMutex // held by Switch while no engine is in service
	tenure    *tenure
	subs      registry

	mu      sync.Mutex
	conns   map[conn]string    // and the address that it counts for
	retired map[conn]time.Time // when they are let go, where MaxAge says so
	callers map[string]int     // connections of each, while MaxPerCaller or MaxPerAddress counts them
	// strangers are sockets whose callers are not known, while MaxStrangers bounds
	// them; true: it was put out, and has yet to go.
	strangers map[*socket]bool
	crowd     bool // there were MaxConnections, and are hardly fewer
	short     bool // of memory
	draining  bool
	// farewells are sockets that are told that there is no place for them.
	farewells int
	wg        sync.WaitGroup // everything that serves a connection

	// reservations are the event streams in single connection mode, by name;
	// the desk answers for them on the bus, from the first one on.
	reservations map[string]*reservation
	desk         *bus.Desk
	answering    sync.WaitGroup // the desk, and watch
}

// conn is what the hub knows of a socket or stream.
type conn interface {
	// drain lets what is queued leave and then ends the connection so that its
	// client comes back, here or elsewhere.
	drain()
	// cutOff cuts the connection at once, because its client does not read.
	cutOff()
	// abort cuts the connection at once.
	abort()
	// recheck ends the connection if the credentials that it lives by have ended.
	recheck()
	// idle reports whether no operation runs.
	idle() bool
	// waiting is how many bytes wait to be written to it.
	waiting() int
	// number names it in the hub.
	number() uint64
	// expel ends the connection because an operator wants it to.
	expel()
}

// NewHub returns a hub that serves connections with e and checks tokens with v.
func NewHub(e Engine, v *auth.Verifier, o Options) *Hub {
	life, kill := context.WithCancel(context.Background())
	h := &Hub{
		tenure: &tenure{engine: e}, verifier: v, opts: o.withDefaults(),
		life: life, kill: kill, born: time.Now(), name: rand.Text()[:8],
		conns: map[conn]string{}, retired: map[conn]time.Time{}, callers: map[string]int{}, strangers: map[*socket]bool{}, reservations: map[string]*reservation{},
	}
	h.parking.hub = h
	h.measure(h.opts.Metrics)
	for range runtime.GOMAXPROCS(0) {
		h.writers = append(h.writers, newWriter(h))
	}
	h.answering.Go(h.watch)
	if h.opts.MaxAge > 0 {
		h.answering.Go(h.rebalance)
	}
	if h.opts.Memory != nil {
		h.answering.Go(h.relieve)
	}
	return h
}

// nextWriter spreads the sockets over the writers.
func (h *Hub) nextWriter() *writer {
	return h.writers[int(h.writer.Add(1))%len(h.writers)]
}

// Wrap returns a handler that takes WebSocket handshakes, requests which accept
// text/event-stream, and those that reserve an event stream or name a reserved
// one, and leaves all others to next.
func (h *Hub) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
			h.WebSocket(w, r)
		case r.Method == http.MethodPut, streamToken(r) != "" && singleMethod(r.Method):
			h.Single(w, r)
		case acceptsEventStream(r):
			h.SSE(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Stats is what a hub has and had to do; the totals count from its start.
type Stats struct {
	Sockets    int    // open WebSockets
	Streams    int    // open event streams
	Reserved   int    // event streams in single connection mode, open or not yet
	Operations int    // running on them
	Opened     uint64 // connections accepted in all
	Refused    uint64 // connections refused: not ready, draining, too many, or with wrong credentials
	Delivered  uint64 // results queued for clients
	Overflowed uint64 // connections ended because their client did not read
	Short      bool   // of memory: no others are taken
}

// Stats returns the counts of this moment.
func (h *Hub) Stats() Stats {
	c := &h.stats
	h.mu.Lock()
	reserved, short := len(h.reservations), h.short
	h.mu.Unlock()
	s := Stats{
		Short: short, Reserved: reserved, Operations: int(c.operations.Load()), Overflowed: c.overflowed.Load(),
		Sockets: int(c.by[overSocket].open.Load()), Streams: int(c.by[overStream].open.Load()),
	}
	for i := range c.by {
		s.Opened += c.by[i].opened.Load()
		s.Delivered += c.by[i].delivered.Load()
	}
	for i := range c.refused {
		s.Refused += c.refused[i].Load()
	}
	return s
}

var (
	errDraining = errors.New("the server is restarting; connect again")
	errStarting = errors.New("the server is starting; try again")
	errFull     = errors.New("the server has as many connections as it may; try again later")
)

// enter registers a connection and counts the caller's goroutine as one that
// serves it; the caller must call leave with the same connection.
func (h *Hub) enter(c conn, from netip.Addr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.fullLocked(); err != nil {
		return err
	}
	address := h.addressOf(from)
	if !h.countLocked(address, h.opts.MaxPerAddress) {
		return h.refused(refusedAddress, errCrowded)
	}
	h.conns[c] = address
	h.arriveLocked(c)
	h.retireLocked(c)
	h.crowdedLocked()
	h.wg.Add(1)
	return nil
}

func (h *Hub) leave(c conn) {
	h.mu.Lock()
	h.uncountLocked(h.conns[c])
	delete(h.conns, c)
	delete(h.retired, c)
	if s, is := c.(*socket); is {
		delete(h.strangers, s)
	}
	h.crowd = h.crowd && h.knownLocked() > h.opts.MaxConnections-max(1, h.opts.MaxConnections/10)
	h.mu.Unlock()
	h.wg.Done()
}

// crowdedLocked notes that there are as many connections as there may be.
func (h *Hub) crowdedLocked() {
	h.crowd = h.crowd || h.opts.MaxConnections > 0 && h.knownLocked() >= h.opts.MaxConnections
}

// full returns why no connection is accepted now, nil when one is.
func (h *Hub) full() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fullLocked()
}

func (h *Hub) fullLocked() error {
	if h.draining {
		return h.refused(refusedDraining, errDraining)
	}
	if h.opts.Ready != nil && h.opts.Ready() != nil {
		return h.refused(refusedStarting, errStarting)
	}
	if h.opts.MaxConnections > 0 && h.knownLocked() >= h.opts.MaxConnections {
		return h.refused(refusedFull, errFull)
	}
	if h.short {
		return h.refused(refusedMemory, shortage{})
	}
	return nil
}

package realtime

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/trace"
	"tidings/quota"
)

// WebSocket serves a connection that speaks graphql-transport-ws or the older
// graphql-ws: the first when the client offers both. It answers the handshake
// and returns; the connection is served by the hub's own goroutines, so that
// net/http's buffers are free while it lives.
//
// The caller is who connection_init says (authToken or Authorization), else
// whom the handshake's Authorization header names, else anonymous; cookies are
// never read. A handshake is refused with 403 for a foreign Origin, 401 for a
// wrong header, 429 for an address with too many connections, 503 while the hub
// drains. While it is full the handshake is accepted and the socket closed with
// 1013, or with too many such at a time refused with 503. A client that offers
// no known subprotocol is closed with 4406.
func (h *Hub) WebSocket(w http.ResponseWriter, r *http.Request) {
	if err := h.full(); err != nil {
		if !errors.Is(err, errFull) || !h.overloaded(w, r, err) {
			h.unavailable(w, err)
		}
		return
	}
	from := quota.Client(r.Context())
	if h.crowded(from) {
		h.turnedAway(refusedAddress)
		refuseMany(w, tooManyFrom)
		return
	}
	who, err := h.verifier.Bearer(r.Header.Get("Authorization"))
	if err != nil {
		h.unauthorized(w, err)
		return
	}
	hs := &handshake{ResponseWriter: w}
	ws, err := h.upgrade(hs, r)
	if err != nil {
		return // the upgrader has answered
	}
	s := newSocket(h, ws, who)
	s.in = hs.reader
	s.client = from
	if err := s.begin(); err != nil {
		h.tooLate(ws, err)
		return
	}
	h.stats.by[overSocket].begin()
	h.opened(overSocket, s.conn, from)
	go s.serve()
	h.putOut()
}

// upgrade answers the handshake.
func (h *Hub) upgrade(hs *handshake, r *http.Request) (*websocket.Conn, error) {
	// No compression: gorilla limits the compressed size only.
	up := websocket.Upgrader{
		HandshakeTimeout: h.opts.WriteTimeout,
		WriteBufferSize:  1024,
		WriteBufferPool:  &h.wsBufs,
		Subprotocols:     []string{modern.name, legacy.name},
		CheckOrigin:      h.allowedOrigin,
	}
	return up.Upgrade(hs, r, nil)
}

// allowedOrigin protects people whose browser runs a foreign page: a socket is
// not bound by the same-origin policy.
func (h *Hub) allowedOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(h.opts.AllowedOrigins, "*") {
		return true
	}
	if slices.ContainsFunc(h.opts.AllowedOrigins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// socket is one WebSocket connection. One goroutine reads it: see serve.
// The writer writes what there is, and a goroutine of the socket's own what the
// connection does not take at once.
//
// mu is below the engine's locks: the engine calls Next while it holds its own,
// so mu is never held during a call of the engine.
type socket struct {
	outbound
	ws      *websocket.Conn
	raw     syscall.RawConn // the connection's descriptor; nil where it has none
	in      *bufio.Reader   // which ws reads from
	writer  *writer
	dialect *dialect
	client  netip.Addr    // where it comes from
	due     time.Duration // when the messages that it has sent would have come at the rate that is allowed; the reader's own
	caller  string        // whose connection it counts as; the reader's own

	// mu guards what follows.
	writing  bool
	started  bool          // connection_init has come
	origin   *trace.Remote // of operations that do not say; nil as a rule
	acked    bool          // and was accepted
	cursors  bool          // and its client listens to positions
	who      auth.Principal
	resume   map[string]string
	ops      map[string]*operation
	running  int         // queries and mutations among them, answered or not
	draining bool        // it is closed when they are answered
	limit    *time.Timer // the time for connection_init, then the token's
	pinger   *time.Timer
	nextPing time.Time
	deadline time.Time // when a silent connection is given up
	place    place     // the parking's
	code     uint16    // of the close frame that it ends with; 0: none
}

func newSocket(h *Hub, ws *websocket.Conn, who auth.Principal) *socket {
	d := cmp.Or(dialectOf(ws.Subprotocol()), modern)
	s := &socket{outbound: newOutbound(h), ws: ws, raw: descriptor(ws.NetConn()), writer: h.nextWriter(), dialect: d, who: who, ops: map[string]*operation{}}
	ws.SetPingHandler(func(data string) error {
		s.send(item{opcode: opPong, head: data})
		return nil
	})
	ws.SetPongHandler(func(string) error {
		s.alive()
		return nil
	})
	ws.SetCloseHandler(func(code int, _ string) error {
		s.echoClose(code)
		return nil
	})
	return s
}

// begin registers the socket and starts its timers, all before the hub, which
// from there on may drain it, gets to it.
func (s *socket) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.hub.enter(s, s.client); err != nil {
		return err
	}
	s.aliveLocked()
	s.limit = time.AfterFunc(s.hub.opts.InitTimeout, s.initTimeUp)
	s.nextPing = time.Now().Add(s.pingEvery())
	s.pinger = time.AfterFunc(s.pingEvery(), s.ping)
	if s.ws.Subprotocol() == "" {
		s.closeLocked(closeSubprotocol, "the subprotocol is not acceptable: use "+modern.name)
	}
	return nil
}

// alive gives the peer the time of two and a half pings to show itself again.
// It does not, and returns false, when the socket is closing.
func (s *socket) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.shut {
		return false
	}
	s.aliveLocked()
	return true
}

func (s *socket) aliveLocked() {
	s.deadline = time.Now().Add(s.hub.opts.PingEvery * 5 / 2)
}

// pingEvery is more often for old clients, which give up a connection without
// a message in some tens of seconds.
func (s *socket) pingEvery() time.Duration {
	if s.dialect.legacy {
		return min(s.hub.opts.KeepAlive, s.hub.opts.PingEvery)
	}
	return s.hub.opts.PingEvery
}

// ping pings the peer when it is time to, and gives up one that was silent for
// too long.
func (s *socket) ping() {
	s.askAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !now.Before(s.deadline) {
		s.becauseLocked(byIdleness)
		s.cut()
		return
	}
	if s.out.shut {
		s.pinger.Reset(s.deadline.Sub(now))
		return
	}
	if !now.Before(s.nextPing) {
		s.nextPing = now.Add(s.pingEvery())
		if it, news := s.positionsLocked(); news {
			s.pushLocked(it)
		} else if s.dialect.legacy && s.acked {
			s.pushLocked(item{opcode: opText, head: keepAliveMessage})
		}
		s.pushLocked(item{opcode: opPing})
	}
	s.pinger.Reset(min(s.nextPing.Sub(now), s.deadline.Sub(now)))
}

func (s *socket) initTimeUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.acked {
		s.rejectLocked(closeInitTimeout, "connection initialisation timeout")
	}
}

// receive acts on one message.
func (s *socket) receive(data []byte) {
	m, err := s.dialect.decode(data)
	if err != nil {
		s.malformed(err)
		return
	}
	switch m.typ {
	case "connection_init":
		m.init.origin = originIn(s.hub.opts.Tracer, m.raw)
		s.initialise(m.init)
	case "ping":
		if credentials := m.init.credentials(); credentials != "" {
			s.renew(credentials)
			return
		}
		s.pong(m)
	case "subscribe":
		s.subscribe(m)
	case "complete":
		s.complete(m.id, s.completed(m.id))
	case "connection_terminate":
		s.close(websocket.CloseNormalClosure, "")
	}
}

// malformed acts on a message that is against the protocol. An old client is
// told so, and may go on.
func (s *socket) malformed(err error) {
	if s.dialect.legacy {
		s.send(connectionError(err.Error()))
		return
	}
	s.close(closeBadMessage, err.Error())
}

// completed is what a client that has completed an operation is told: an old
// one waits for an answer.
func (s *socket) completed(id string) *item {
	if !s.dialect.legacy {
		return nil
	}
	return &item{opcode: opText, head: completeMessage(id)}
}

// rejectLocked closes a socket whose connection is not, or not any more, to be.
func (s *socket) rejectLocked(code int, text string) {
	if s.dialect.legacy {
		s.pushLocked(connectionError(text))
	}
	s.closeLocked(code, text)
}

func (s *socket) pong(m message) {
	if m.raw == nil {
		s.send(item{opcode: opText, head: `{"type":"pong"}`})
		return
	}
	s.send(item{opcode: opText, head: `{"type":"pong","payload":`, body: m.raw, tail: "}"})
}

func (s *socket) initialise(p initPayload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		s.rejectLocked(closeTooManyInits, "too many initialisation requests")
		return
	}
	s.started = true
	if err := s.authenticate(p); err != nil {
		s.rejectLocked(closeForbidden, fault.Of(err).Message)
		return
	}
	if err := s.hub.acquaint(s); err != nil {
		s.rejectLocked(closeOverload, err.Error())
		return
	}
	caller := callerOf(s.who, s.client)
	if !s.hub.claim(caller) {
		s.rejectLocked(closeOverload, tooMany)
		return
	}
	s.caller = caller
	s.acked = true
	s.resume = p.Resume
	s.cursors = string(p.Cursors) == "true"
	s.origin = p.origin
	s.limit.Stop()
	s.limit = s.hub.atEnd(s.who, s.expired)
	s.pushLocked(item{opcode: opText, head: `{"type":"connection_ack"}`})
	if s.dialect.legacy {
		s.pushLocked(item{opcode: opText, head: keepAliveMessage})
	}
}

// authenticate reads the credentials of connection_init. Those of the handshake
// are looked at again: they may have ended since.
func (s *socket) authenticate(p initPayload) (err error) {
	if credentials := p.credentials(); credentials != "" {
		if s.who, err = s.hub.verifier.Bearer(credentials); err != nil {
			return err
		}
	} else if err := s.hub.valid(s.who); err != nil {
		return err
	}
	return s.hub.admits(s.who)
}

// drain closes the socket when what it executes has been answered: a stock
// client would send an unanswered mutation again on its next connection.
func (s *socket) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	s.restartLocked()
}

func (s *socket) executed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.restartLocked()
}

func (s *socket) restartLocked() {
	if s.draining && s.running == 0 {
		s.becauseLocked(s.hub.letGo())
		s.closeLocked(closeRestart, "this process lets its connections go; connect again and resume by cursor")
	}
}

func (s *socket) cutOff() {
	s.mu.Lock()
	s.slowLocked()
	s.mu.Unlock()
	s.cut()
}

func (s *socket) abort() {
	s.because(byDrain)
	s.cut()
}

// cut closes the connection, which whoever reads it finds out.
func (s *socket) cut() {
	s.ws.Close()
	s.hub.parking.wake(s)
}

func (s *socket) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ops) == 0
}

// context returns a context for one operation.
func (s *socket) context() (context.Context, context.CancelFunc) {
	return context.WithCancel(quota.WithClient(s.hub.life, s.client))
}

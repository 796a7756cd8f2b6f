package realtime

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
)

// operation is one operation on a socket, and the sink of its results.
type operation struct {
	socket *socket
	id     string
	head   string // of every next message
	cancel context.CancelFunc

	// Guarded by the socket's lock.
	done bool          // the client hears no more of it
	born int64         // as a stream's
	sub  *subscription // nil when it is none, or has not begun
	// position is how far it has come since the client was told anything; empty:
	// no further.
	position string
}

var _ interface {
	outlet
	graphql.Starter
} = (*operation)(nil)

// subscribe starts an operation: planning happens here, on the reader's
// goroutine, so that a client waits for its own documents; results come from
// the engine's goroutines.
func (s *socket) subscribe(m message) {
	r, after := m.op.request()
	if s.dialect.legacy {
		s.complete(m.id, nil)
	}
	op, who, resume := s.register(m.id)
	if op == nil {
		return
	}
	ctx, cancel := s.context()
	ctx = s.traced(ctx, r.Extensions)
	op.cancel = cancel
	if after == "" {
		after = resume
	}
	defer s.hub.survive(op.fail)
	kind, err := s.hub.kind(ctx, who, r)
	if fault.Is(err, fault.RateLimited) {
		op.fail(errorList(fault.Of(err), ""))
		return
	}
	op.tell(kind, r.OperationName)
	if err == nil && kind == "subscription" {
		sub := &subscription{hub: s.hub, ctx: ctx, who: who, request: r, out: op}
		op.keep(sub)
		if failed := sub.begin(after); failed != nil {
			op.fail(errorsOf(*failed))
		}
		return
	}
	s.execute(op, func() graphql.Response { return s.hub.execute(ctx, who, r) })
}

// execute runs a query or a mutation on a goroutine of its own, unless the
// socket has been closed meanwhile: nobody would hear the answer, and a stock
// client asks again where it connects next.
func (s *socket) execute(op *operation, run func() graphql.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.shut {
		return
	}
	s.running++
	s.hub.wg.Go(func() {
		defer s.executed()
		defer s.hub.survive(op.fail)
		op.result(run())
	})
}

// kind asks the engine what kind of operation a request is.
func (h *Hub) kind(ctx context.Context, who auth.Principal, r graphql.Request) (string, error) {
	t := h.use()
	defer t.users.Done()
	return t.engine.Kind(auth.NewContext(ctx, who), r)
}

func (h *Hub) execute(ctx context.Context, who auth.Principal, r graphql.Request) graphql.Response {
	t := h.use()
	defer t.users.Done()
	return t.engine.Execute(ctx, who, r)
}

// survive is deferred where an operation runs outside of net/http, which would
// otherwise not outlive a panic: the operation fails, the others go on.
func (h *Hub) survive(fail func(errors []byte)) {
	if p := recover(); p != nil {
		id := rand.Text()
		h.opts.Logger.LogAttrs(h.life, slog.LevelError, "an operation panicked",
			slog.String("request_id", id), slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
		fail(errorList(fault.New(fault.Internal, "internal error"), id))
	}
}

// register makes room for an operation. It returns nil when the client may not
// have it, having told it so.
func (s *socket) register(id string) (op *operation, who auth.Principal, resume string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.acked {
		s.rejectLocked(closeUnauthorized, "unauthorized: "+s.dialect.name+" begins with connection_init")
		return
	}
	if s.draining {
		return // the client asks again where it connects next
	}
	if s.ops[id] != nil {
		s.closeLocked(closeDuplicate, "subscriber for "+id+" already exists")
		return
	}
	// What a client has completed may still be at work.
	if most := s.hub.opts.MaxOperations; max(len(s.ops), s.running) >= most {
		s.hub.stats.tooMany.Add(1)
		list := errorList(limited("a connection runs at most %d operations; complete one first", most), "")
		s.pushLocked(s.dialect.errorMessage(id, list))
		return
	}
	op = &operation{socket: s, id: id, head: operationHead(s.dialect.next, id)}
	s.ops[id] = op
	s.hub.stats.operations.Add(1)
	resume = s.resume[id]
	delete(s.resume, id) // it was meant for this one; a later namesake is another operation
	return op, s.who, resume
}

// complete ends an operation for the client that no longer listens, and sends
// the last message, if there is one. An unknown id is none of ours to complain
// of: both ends may complete at the same time.
func (s *socket) complete(id string, last *item) {
	s.mu.Lock()
	op := s.ops[id]
	if op != nil {
		op.done = true
		delete(s.ops, id)
		if last != nil {
			s.pushLocked(*last)
		}
	}
	s.mu.Unlock()
	if op != nil {
		op.release()
	}
}

// Next implements graphql.Sink.
func (op *operation) Next(payload []byte, _ string) bool {
	s := op.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.done || !s.pushLocked(op.next(payload)) {
		return false
	}
	op.toldLocked()
	return true
}

// toldLocked notes that a result was queued.
func (op *operation) toldLocked() {
	op.position = ""
	op.socket.hub.stats.by[overSocket].delivered.Add(1)
	if op.born != 0 {
		op.socket.out.dated, op.born = op.born, 0
	}
}

// Happened implements graphql.Dater.
func (op *operation) Happened(at time.Time) {
	op.socket.mu.Lock()
	defer op.socket.mu.Unlock()
	op.born = at.UnixNano()
}

// Try implements graphql.Trier.
func (op *operation) Try(payload []byte, _ string) (taken, full bool) {
	s := op.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	it := op.next(payload)
	switch {
	case op.done || s.out.shut:
		return false, false
	case !s.out.admits(it, s.hub.opts.MaxQueue):
		op.born = 0 // it is told later, or something newer in its stead
		return false, true
	case !s.pushLocked(it):
		return false, false
	}
	op.toldLocked()
	return true, false
}

func (op *operation) next(payload []byte) item {
	return item{opcode: opText, head: op.head, body: payload, tail: "}"}
}

// End implements graphql.Sink. After an error no complete is sent: clients
// would take it for one of an operation they no longer know.
func (op *operation) End(errors []byte) {
	if errors != nil {
		op.fail(errors)
		return
	}
	op.end(item{opcode: opText, head: completeMessage(op.id)})
}

func (op *operation) fail(errors []byte) {
	op.end(op.socket.dialect.errorMessage(op.id, errors))
}

// result sends the one result of a query or mutation.
func (op *operation) result(r graphql.Response) {
	if r.Failed {
		op.fail(errorsOf(r))
		return
	}
	if op.Next(r.Body, "") {
		op.End(nil)
	}
}

// end sends the last message of the operation, unless the client has completed it.
func (op *operation) end(last item) {
	s := op.socket
	s.mu.Lock()
	if op.done {
		s.mu.Unlock()
		return
	}
	op.done = true
	delete(s.ops, op.id)
	s.pushLocked(last)
	s.mu.Unlock()
	op.settle()
}

// keep notes the operation's subscription, which is about to begin.
func (op *operation) keep(sub *subscription) {
	op.socket.mu.Lock()
	defer op.socket.mu.Unlock()
	op.sub = sub
}

// over implements outlet.
func (op *operation) over() bool {
	op.socket.mu.Lock()
	defer op.socket.mu.Unlock()
	return op.done
}

// Ready blocks until half of the connection's queue is free: a replay of old
// events goes as fast as the client reads.
func (op *operation) Ready(ctx context.Context) error {
	s := op.socket
	return s.out.wait(ctx, &s.mu, s.hub.opts.MaxQueue)
}

// release ends what runs for an operation that the client no longer wants.
// The socket's lock is not held: the engine has locks of its own.
func (op *operation) release() {
	op.socket.mu.Lock()
	sub := op.sub
	op.socket.mu.Unlock()
	op.settle()
	if sub != nil {
		sub.end()
	}
}

// settle is called once, when done has been set.
func (op *operation) settle() {
	op.socket.hub.stats.operations.Add(-1)
	op.cancel()
}

package realtime

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/quota"
)

// posted is one of the operations of a stream in single connection mode, and
// the sink of its results.
type posted struct {
	res    *reservation
	stream *stream
	id     string
	head   string // of every result
	ctx    context.Context
	cancel context.CancelFunc

	// Guarded by the reservation's lock.
	done   bool
	who    auth.Principal
	expiry *time.Timer   // of these
	sub    *subscription // nil when it is none, or has not begun
}

var _ interface {
	outlet
	graphql.Starter
} = (*posted)(nil)

// start begins an operation, or lets it wait for the stream.
func (r *reservation) start(o *order) error {
	r.mu.Lock()
	if err := r.acceptsLocked(o); err != nil {
		r.mu.Unlock()
		return err
	}
	if r.stream == nil {
		defer r.mu.Unlock()
		return r.waitLocked(o)
	}
	op := r.registerLocked(o)
	r.mu.Unlock()
	op.run(o)
	return nil
}

func (r *reservation) acceptsLocked(o *order) error {
	if err := r.admitsLocked(o.Who); err != nil {
		return err
	}
	if r.ops[o.ID] != nil || slices.ContainsFunc(r.waiting, func(w *order) bool { return w.ID == o.ID }) {
		return fault.New(fault.Conflict, "the stream has an operation with this id")
	}
	// What a client has stopped may still be at work.
	running := len(r.ops) + len(r.waiting)
	if r.stream != nil {
		left, draining := r.stream.atWork()
		if draining {
			return fault.New(fault.Unavailable, "%s", errDraining)
		}
		running = max(running, left)
	}
	if most := r.hub.opts.MaxOperations; running >= most {
		r.hub.stats.tooMany.Add(1)
		return limited("a connection runs at most %d operations; complete one first", most)
	}
	return nil
}

func (r *reservation) waitLocked(o *order) error {
	if r.bytes+o.size() > maxWaiting {
		return fault.New(fault.PayloadTooLarge, "too much waits for this event stream; open it first")
	}
	r.bytes += o.size()
	r.waiting = append(r.waiting, o)
	return nil
}

func (r *reservation) registerLocked(o *order) *posted {
	op := &posted{res: r, stream: r.stream, id: o.ID, head: "event: next\ndata: {\"id\":" + quoted(o.ID) + `,"payload":`}
	op.ctx, op.cancel = context.WithCancel(quota.WithClient(r.stream.ctx, o.Client))
	op.who, op.expiry = o.Who, r.hub.atEnd(o.Who, op.stream.expired)
	if r.ops == nil {
		r.ops = map[string]*posted{}
	}
	r.ops[o.ID] = op
	r.hub.stats.operations.Add(1)
	return op
}

// run plans the operation on the caller's goroutine and begins it.
func (op *posted) run(o *order) {
	h, r := op.res.hub, o.request()
	defer h.survive(op.End)
	kind, err := h.kind(op.ctx, o.Who, r)
	switch {
	case fault.Is(err, fault.RateLimited):
		op.End(errorList(fault.Of(err), ""))
	case err == nil && kind == "subscription":
		sub := &subscription{hub: h, ctx: op.ctx, who: o.Who, request: r, out: op}
		op.keep(sub)
		if failed := sub.begin(o.After); failed != nil && op.Next(failed.Body, "") {
			op.End(nil)
		}
	default:
		op.stream.execute(func() graphql.Response { return h.execute(op.ctx, o.Who, r) }, op)
	}
}

// stop ends an operation for the client that no longer listens. An id that is
// not known is none of ours to complain of: both ends may end it at the same time.
func (r *reservation) stop(who auth.Principal, id string) error {
	r.mu.Lock()
	if err := r.admitsLocked(who); err != nil {
		r.mu.Unlock()
		return err
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(o *order) bool {
		if o.ID != id {
			return false
		}
		r.bytes -= o.size()
		return true
	})
	op := r.ops[id]
	if op != nil {
		op.done = true
		delete(r.ops, id)
	}
	r.mu.Unlock()
	if op != nil {
		op.release()
	}
	return nil
}

// Next implements graphql.Sink.
func (op *posted) Next(payload []byte, _ string) bool {
	op.res.mu.Lock()
	defer op.res.mu.Unlock()
	if op.done || !op.stream.push(op.next(payload)) {
		return false
	}
	op.res.hub.stats.by[overStream].delivered.Add(1)
	return true
}

// Try implements graphql.Trier.
func (op *posted) Try(payload []byte, _ string) (taken, full bool) {
	op.res.mu.Lock()
	defer op.res.mu.Unlock()
	if op.done {
		return false, false
	}
	if taken, full = op.stream.try(op.next(payload)); taken {
		op.res.hub.stats.by[overStream].delivered.Add(1)
	}
	return taken, full
}

func (op *posted) next(payload []byte) item {
	return item{head: op.head, body: dataLines(payload), tail: "}\n\n"}
}

// End implements graphql.Sink.
func (op *posted) End(errors []byte) {
	if errors != nil {
		op.Next(fmt.Appendf(nil, `{"errors":%s}`, errors), "")
	}
	r := op.res
	r.mu.Lock()
	if op.done {
		r.mu.Unlock()
		return
	}
	op.done = true
	delete(r.ops, op.id)
	op.stream.push(item{head: "event: complete\ndata: {\"id\":" + quoted(op.id) + "}\n\n"})
	r.mu.Unlock()
	op.settle()
}

// Happened implements graphql.Dater.
func (op *posted) Happened(at time.Time) { op.stream.Happened(at) }

// Ready implements graphql.Pacer.
func (op *posted) Ready(ctx context.Context) error { return op.stream.ready(ctx) }

// keep notes the operation's subscription, which is about to begin: by the
// credentials that the operation has by now.
func (op *posted) keep(sub *subscription) {
	op.res.mu.Lock()
	defer op.res.mu.Unlock()
	sub.who, op.sub = op.who, sub
}

// over implements outlet.
func (op *posted) over() bool {
	op.res.mu.Lock()
	defer op.res.mu.Unlock()
	return op.done
}

// release ends what runs for an operation that the client no longer wants.
// No lock is held: the engine has locks of its own.
func (op *posted) release() {
	op.res.mu.Lock()
	sub := op.sub
	op.res.mu.Unlock()
	op.settle()
	if sub != nil {
		sub.end()
	}
}

// settle is called once, when done has been set.
func (op *posted) settle() {
	op.res.hub.stats.operations.Add(-1)
	op.res.mu.Lock()
	stop(op.expiry)
	op.res.mu.Unlock()
	op.cancel()
}

package realtime

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/sleep"
)

// errand is what a request asks of an event stream in single connection mode,
// which another process may hold: docs/bus.md has its form.
type errand struct {
	Do errandKind `json:"do"`
	// Who was found to be calling, by the process that took the request.
	Who auth.Principal `json:"who"`
	// Ticket: the stream is opened by its token alone, without credentials.
	Ticket bool `json:"ticket,omitempty"`
	// ID names the operation to stop.
	ID    string `json:"id,omitempty"`
	Order *order `json:"order,omitempty"`
}

type errandKind string

const (
	doOpen  errandKind = "open"  // hand the promised stream over, to be opened elsewhere
	doStart errandKind = "start" // an operation
	doStop  errandKind = "stop"
	doRenew errandKind = "renew" // the credentials of the stream and of its operations
)

// order is an operation whose results go to an event stream.
type order struct {
	ID      string          `json:"id"`
	Who     auth.Principal  `json:"who"`
	Client  netip.Addr      `json:"client"`
	After   string          `json:"after,omitempty"` // the cursor to resume from
	Request graphql.Request `json:"request"`
	// What headers ask for; it is no part of a request's own form.
	Position       string `json:"position,omitempty"`
	WantPosition   bool   `json:"wantPosition,omitempty"`
	WantCost       bool   `json:"wantCost,omitempty"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

func newOrder(id, after string, who auth.Principal, client netip.Addr, r graphql.Request) *order {
	return &order{
		ID: id, Who: who, Client: client, After: after, Request: r,
		Position: r.Position, WantPosition: r.WantPosition, WantCost: r.WantCost, IdempotencyKey: r.IdempotencyKey,
	}
}

func (o *order) request() graphql.Request {
	r := o.Request
	r.Position, r.WantPosition, r.WantCost, r.IdempotencyKey = o.Position, o.WantPosition, o.WantCost, o.IdempotencyKey
	return r
}

// size is about what it takes while it waits.
func (o *order) size() int {
	r := &o.Request
	return overhead + len(o.ID) + len(r.Query) + len(r.Variables) + len(r.Extensions) + len(r.OperationName)
}

// handover is what a process is told that opens a stream which another promised.
type handover struct {
	Who     auth.Principal `json:"who"`
	Waiting []*order       `json:"waiting,omitempty"`
}

// decodeErrand reads what another process sent.
func decodeErrand(data []byte) (e errand, err error) {
	err = json.Unmarshal(data, &e)
	switch {
	case err != nil:
	case e.Do == doOpen, e.Do == doRenew, e.Do == doStop && e.ID != "":
		return e, nil
	case e.Do == doStart && e.Order != nil && e.Order.ID != "" && len(e.Order.ID) <= maxID:
		return e, nil
	}
	return e, fault.New(fault.BadRequest, "this is no errand to an event stream")
}

var errNoStream = fault.New(fault.NotFound, "there is no such event stream (any more); reserve one by PUT, and open it")

// settling is how long it takes at most until a stream that one process hands
// to another is found there.
const settling = 100 * time.Millisecond

// send carries an errand out, here or where the stream is.
func (h *Hub) send(ctx context.Context, name string, e errand) (*handover, error) {
	got, err := h.sendOnce(ctx, name, e)
	if h.opts.Bus == nil || !fault.Is(err, fault.NotFound) {
		return got, err
	}
	if err := sleep.For(ctx, settling); err != nil {
		return nil, err
	}
	return h.sendOnce(ctx, name, e)
}

func (h *Hub) sendOnce(ctx context.Context, name string, e errand) (*handover, error) {
	if r := h.reserved(name); r != nil {
		return r.do(e)
	}
	if h.opts.Bus == nil {
		return nil, errNoStream
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	m, err := h.opts.Bus.Reach(ctx, h.opts.Bus.Subjects().Events(name), data)
	if fault.Is(err, fault.NotFound) {
		return nil, errNoStream
	}
	if err != nil {
		return nil, err
	}
	var got handover
	if err := json.Unmarshal(m.Data, &got); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "internal error")
	}
	return &got, nil
}

// answer carries out what another process sent.
func (h *Hub) answer(_ context.Context, m bus.Message) ([]byte, error) {
	e, err := decodeErrand(m.Data)
	if err != nil {
		return nil, err
	}
	r := h.reserved(m.Subject[len(h.opts.Bus.Subjects().Events("")):])
	if r == nil {
		return nil, errNoStream
	}
	got, err := r.do(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(got)
}

package graphql

import (
	"context"
	"errors"
	"time"

	"tidings/fault"
	"tidings/resource"
)

// maxAwait bounds how long a read waits for a position: many times what a view
// that is not busy needs.
const maxAwait = 5 * time.Second

// await returns when the view shows the position that the request names. The
// fault is BadUserInput for what is no position, CursorExpired for one of
// another log, and Timeout when the view has not got there in time.
func (e *Engine) await(ctx context.Context, cursor string) error {
	at, err := resource.ParsePosition(cursor)
	switch {
	case err != nil:
		return fault.New(fault.BadUserInput, "the position is malformed; use one that an answer of this service carried")
	case at.Log != e.logID():
		return fault.New(fault.CursorExpired, "the position belongs to another log; read without it")
	}
	ctx, cancel := context.WithTimeout(ctx, min(maxAwait, e.options.Timeout))
	defer cancel()
	err = e.data.WaitFor(ctx, at.Seq)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Wrap(err, fault.Timeout, "this process does not show the position yet; try again, or read without it")
	}
	return err
}

// begin does what a request asks for before its operation runs.
func (e *Engine) begin(ctx context.Context, op *operation) *Response {
	if op.asked.position != "" {
		if err := e.await(ctx, op.asked.position); err != nil {
			return e.refusal(ctx, err)
		}
	}
	if op.asked.tell {
		op.from = e.now().Seq
	}
	return nil
}

// position is where the last change of a mutation happened, otherwise what the
// view showed at least while the operation ran.
func (r *run) position() string {
	return resource.Position{Log: r.engine.logID(), Seq: max(r.wrote, r.op.from)}.String()
}

package service

import (
	"context"
	"errors"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/trace"
	"tidings/schema"
)

// Listener is told what comes on a subject. Its functions are called one at a
// time, and what is slow to return delays what follows.
type Listener struct {
	// Started is called once, before the others: everything after it is heard.
	// Of a stream it gets the identity and the last position before.
	Started func(log string, at uint64)
	// Message gets what was published; seq is its position in the stream, 0
	// where there is none. cause is the span that published it, where its headers
	// say that there is one and that it is recorded; else nil.
	Message func(seq uint64, data []byte, cause *trace.Remote)
	// Lost is called when messages may have been lost, which never happens to
	// those of a stream.
	Lost func()
}

// Listen tells l what is published on a subject of the binding from now on,
// until ctx ends; then it returns nil. The errors are those of bus.Bus.Hear,
// and with a stream those of bus.Bus.Tail.
func (c *Client) Listen(ctx context.Context, b *schema.Binding, subject string, l Listener) error {
	if b.Stream == "" {
		return c.bus.Hear(ctx, subject, func() { l.Started("", 0) }, func(m bus.Message) { l.Message(0, m.Data, c.cause(m)) }, l.Lost)
	}
	return hidden(c.bus.Tail(ctx, bus.Tail{Stream: b.Stream, Subject: subject, New: true, Started: l.Started}, func(m bus.Message) error {
		l.Message(m.Seq, m.Data, c.cause(m))
		return nil
	}))
}

// Missed hands fn what the binding's stream holds on the subject after one
// position up to another, in order, and perhaps some of what follows. log is
// the stream's identity that the positions belong to. An error of fn ends it
// and comes back as it is; otherwise the errors are those of bus.Bus.Tail, among
// them CURSOR_EXPIRED, and that of ctx.
func (c *Client) Missed(ctx context.Context, b *schema.Binding, subject, log string, after, upto uint64, fn func(seq uint64, data []byte) error) error {
	upto = max(after, upto)
	if upto == 0 {
		return nil // there was nothing yet
	}
	err := c.bus.Tail(ctx, bus.Tail{Stream: b.Stream, Subject: subject, ID: log, After: after, Until: upto},
		func(m bus.Message) error { return fn(m.Seq, m.Data) })
	if err == nil {
		return ctx.Err()
	}
	return hidden(err)
}

// hidden keeps the names of streams, and how to mend them, for the log.
func hidden(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.Unavailable {
		return fault.Wrap(err, fault.Unavailable, "the stream behind the field is not there just now")
	}
	return err
}

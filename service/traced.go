package service

import (
	"context"
	"errors"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/trace"
	"tidings/schema"
)

// sending begins the span of what is sent to a service, and tells that one in its
// headers to which trace it belongs, also when it is not recorded here. The span is
// named by the subject as the schema has it: callers choose the rest.
func (c *Client) sending(ctx context.Context, o trace.Operation, b *schema.Binding, h bus.Header) (context.Context, *trace.Span) {
	t := c.bus.Tracer()
	ctx, span := t.Message(ctx, o, b.Subject.Text)
	t.InjectDecision(ctx, h)
	return ctx, span
}

// sent ends it with what came of it.
func sent(span *trace.Span, err error) {
	if span == nil {
		return
	}
	defer span.End()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		span.Fail("CANCELED", false)
	default:
		code := fault.Of(err).Code
		span.Fail(string(code), code == fault.Internal || code == fault.Unavailable || code == fault.Timeout)
	}
}

// cause is the span that published a message, if that is recorded.
func (c *Client) cause(m bus.Message) *trace.Remote {
	if from := c.bus.Tracer().Origin(m.Header); from.Sampled() {
		return from
	}
	return nil
}

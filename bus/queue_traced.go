package bus

import (
	"context"

	"github.com/nats-io/nats.go"

	"tidings/internal/trace"
)

// A task is done long after it was put: it begins a trace of its own, which refers
// to the one that put it.

// putting begins the span of a task that is put, which its message carries.
func (q *Queue) putting(ctx context.Context, m *nats.Msg) (context.Context, *trace.Span) {
	ctx, span := q.bus.opts.Tracer.Message(ctx, trace.Publish(), q.template())
	if span != nil {
		q.bus.opts.Tracer.Inject(ctx, m.Header)
	}
	return ctx, span
}

// doing begins the span of a task that is done.
func (q *Queue) doing(ctx context.Context, h nats.Header) (context.Context, *trace.Span) {
	t := q.bus.opts.Tracer
	from := t.Origin(h)
	if !from.Sampled() {
		return ctx, nil
	}
	return t.Caused(ctx, q.template(), from)
}

func (q *Queue) template() string { return q.subjects + "{task}" }

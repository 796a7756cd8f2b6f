package trace

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The headers of the W3C's Trace Context, as they are written on the bus. Baggage
// is neither read nor passed on: it may hold anything.
const (
	HeaderParent = "traceparent"
	HeaderState  = "tracestate"
)

// maxState bounds a tracestate in bytes, which the W3C asks everybody to carry; a
// longer one is left out, and the trace goes on without.
const maxState = 512

// Remote is a span of somebody else, or of another time. A nil one is none.
type Remote struct{ at trace.SpanContext }

// carrier reads headers as they are on the bus and as net/http and many clients of
// NATS write them. What comes twice does not count.
type carrier map[string][]string

func (c carrier) Get(key string) string {
	values := c[key]
	switch {
	case values != nil:
	case key == HeaderParent:
		values = c["Traceparent"]
	case key == HeaderState:
		values = c["Tracestate"]
	}
	if len(values) != 1 || key == HeaderState && len(values[0]) > maxState {
		return ""
	}
	return values[0]
}

func (c carrier) Set(key, value string) { c[key] = []string{value} }

func (c carrier) Keys() []string { return nil }

// Origin reads who sent a message, out of its headers: nil when nobody says, or
// not as the W3C has it, and when tracing is off.
func (t *Tracer) Origin(h map[string][]string) *Remote {
	if t == nil || len(h) == 0 {
		return nil
	}
	from := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier(h)))
	if !from.IsValid() {
		return nil
	}
	return &Remote{from}
}

// Sampled reports whether it is recorded.
func (r *Remote) Sampled() bool { return r != nil && r.at.IsSampled() }

// Under returns a context whose spans are below r.
func (r *Remote) Under(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, r.at)
}

// Here is the span of ctx, for others to refer to later; nil when none is sampled.
func (t *Tracer) Here(ctx context.Context) *Remote {
	if t == nil {
		return nil
	}
	at := trace.SpanContextFromContext(ctx)
	if !at.IsSampled() {
		return nil
	}
	return &Remote{at}
}

// After begins a trace of what others have set off that is theirs no more: it
// refers to their spans, and is recorded if one of them is. Without any it is nil.
func (t *Tracer) After(ctx context.Context, kind Kind, name string, causes ...*Remote) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	var links []trace.Link
	for _, c := range causes {
		if c.Sampled() {
			links = append(links, trace.Link{SpanContext: c.at})
		}
	}
	if links == nil {
		return ctx, nil
	}
	return recorded(t.tracer.Start(ctx, name, trace.WithNewRoot(), trace.WithSpanKind(kinds[kind]), trace.WithLinks(links...)))
}

// Inject writes into the headers of a message who sends it, if that is recorded;
// h is made if need be. What is not recorded costs no bytes.
func (t *Tracer) Inject(ctx context.Context, h map[string][]string) map[string][]string {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return h
	}
	return inject(ctx, h)
}

// InjectDecision does what Inject does, and tells those who trace by themselves
// also that a request is not recorded.
func (t *Tracer) InjectDecision(ctx context.Context, h map[string][]string) map[string][]string {
	if t == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return h
	}
	return inject(ctx, h)
}

func inject(ctx context.Context, h map[string][]string) map[string][]string {
	if h == nil {
		h = make(map[string][]string, 2)
	}
	propagation.TraceContext{}.Inject(ctx, carrier(h))
	return h
}

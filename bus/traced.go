package bus

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"tidings/fault"
	"tidings/internal/trace"
)

// Traces go on across the bus by the headers traceparent and tracestate. Nothing
// here begins one: what comes without a header that says "recorded" is not.

// Tracer makes the spans of this bus; nil: nobody does.
func (b *Bus) Tracer() *trace.Tracer { return b.opts.Tracer }

// requesting begins the span of a request, and returns headers that carry it.
func (b *Bus) requesting(ctx context.Context, template string, h Header) (context.Context, *trace.Span, Header) {
	ctx, span := b.opts.Tracer.Message(ctx, trace.Request(), template)
	if span != nil {
		h = Header(b.opts.Tracer.Inject(ctx, maps.Clone(h)))
	}
	return ctx, span, h
}

// processing begins the span of a request that came.
func (b *Bus) processing(ctx context.Context, m Message) (context.Context, *trace.Span) {
	from := b.opts.Tracer.Origin(m.Header)
	if !from.Sampled() {
		return ctx, nil
	}
	return b.opts.Tracer.Message(from.Under(ctx), trace.Process(), m.Subject)
}

// appending begins the span of an append, which its messages carry.
func (b *Bus) appending(ctx context.Context, entries []Entry) (context.Context, *trace.Span) {
	t := b.opts.Tracer
	if t == nil {
		return ctx, nil
	}
	named := max(0, slices.IndexFunc(entries, func(e Entry) bool { return b.subjects.isRecord(e.Subject) }))
	ctx, span := t.Message(ctx, trace.Publish(), b.subjects.template(entries[named].Subject))
	if span != nil && len(entries) > 1 {
		span.Number(trace.BatchCount, int64(len(entries)))
	}
	return ctx, span
}

// traceRoom is what a trace takes of a message at most.
const traceRoom = 1 << 10

// carry writes the span of ctx into the messages of records that have room for it:
// nobody asks the others.
func (b *Bus) carry(ctx context.Context, msgs []*nats.Msg) {
	for _, m := range msgs {
		if b.subjects.isRecord(m.Subject) && int64(m.Size()+batchHeaders+traceRoom) <= b.nc.MaxPayload() {
			b.opts.Tracer.Inject(ctx, m.Header)
		}
	}
}

// finish ends a span with what came of it.
func finish(span *trace.Span, err error) {
	if span == nil {
		return
	}
	defer span.End()
	switch {
	case err == nil:
	case errors.Is(err, ErrConflict):
		span.Fail(string(fault.Conflict), false)
	case errors.Is(err, ErrUnknownOutcome):
		span.Fail("UNKNOWN_OUTCOME", true)
	case errors.Is(err, context.Canceled):
		span.Fail("CANCELED", false)
	default:
		code := fault.Of(err).Code
		span.Fail(string(code), code == fault.Internal || code == fault.Unavailable || code == fault.Timeout)
	}
}

func (s Subjects) isRecord(subject string) bool {
	_, _, ok := s.ParseRecord(subject)
	return ok
}

// Template is what the subjects of all records of a type are called in traces.
func (s Subjects) Template(typ string) string { return s.Prefix + ".log." + typ + ".{id}" }

// template is a subject of the log without the ids and values in it.
func (s Subjects) template(subject string) string {
	if typ, _, ok := s.ParseRecord(subject); ok {
		return s.Template(typ)
	}
	if typ, field, _, ok := s.ParseUnique(subject); ok {
		return s.Prefix + ".log._unique." + typ + "." + field + ".{hash}"
	}
	if rest, ok := strings.CutPrefix(subject, s.References()); ok {
		typ, _, _ := strings.Cut(rest, ".")
		return s.References() + typ + ".{id}"
	}
	return s.Log()
}

package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Operation is what is done with a message.
type Operation struct {
	name, typ string
	kind      Kind
}

// Request asks and waits for the answer.
func Request() Operation { return Operation{"request", "send", Producer} }

// Publish sends, and waits at most until it is stored.
func Publish() Operation { return Operation{"publish", "send", Producer} }

// Process is what is done with a message that came.
func Process() Operation { return Operation{"process", "process", Consumer} }

// Message begins the span of a message below that of ctx, and begins no trace.
// template is its subject without what makes for many of them: ids, what
// somebody typed.
func (t *Tracer) Message(ctx context.Context, o Operation, template string) (context.Context, *Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	ctx, s := t.Start(ctx, o.kind, o.name+" "+template)
	s.message(o, template)
	return ctx, s
}

// Caused begins a trace of a message that came, long after what it is caused by.
// See After.
func (t *Tracer) Caused(ctx context.Context, template string, causes ...*Remote) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	o := Process()
	ctx, s := t.After(ctx, o.kind, o.name+" "+template, causes...)
	s.message(o, template)
	return ctx, s
}

func (s *Span) message(o Operation, template string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(
		attribute.String(System, "nats"),
		attribute.String(MessagingType, o.typ),
		attribute.String(MessagingName, o.name),
		attribute.String(DestinationTemplate, template),
	)
}

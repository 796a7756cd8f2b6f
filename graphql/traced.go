package graphql

import (
	"context"

	"tidings/fault"
	"tidings/internal/trace"
)

// The span of an operation is named by its type alone; its name, which callers
// choose, is an attribute.

// unplanned is what a span is called until the type of the operation is known.
const unplanned = "GraphQL Operation"

// tracing begins the span of an operation. It is nil where nothing is recorded,
// and that costs nothing.
func (e *Engine) tracing(ctx context.Context) (context.Context, *trace.Span) {
	return e.options.Tracer.Start(ctx, trace.Server, unplanned)
}

// known tells a span which operation it is.
func (e *Engine) known(span *trace.Span, op *operation) {
	if span == nil {
		return
	}
	span.Rename(string(op.kind))
	e.describe(span, op)
}

func (e *Engine) describe(span *trace.Span, op *operation) {
	if span == nil {
		return
	}
	span.Text(trace.OperationType, string(op.kind))
	span.Text(trace.OperationName, short(op.def.Name))
	if e.options.TraceDocuments {
		span.Text(trace.Document, op.document.text)
	}
}

// traced ends the span of an operation that was refused or answered with code.
func traced(span *trace.Span, code fault.Code) {
	if span == nil {
		return
	}
	span.Fail(string(code), faulty(code))
	span.End()
}

// Package trace says where the time of a request went, across processes: spans in
// the model of OpenTelemetry, the context of the W3C that ties them together, and
// their way to a collector.
//
// A nil Tracer is tracing that is off: every method of it, and of the nil Span that
// it starts, returns at once and allocates nothing. A span that is not sampled is
// nil too. So those who make spans need not ask.
//
// Spans tell what was done, how long it took and the code of a failure. They never
// hold tokens, variables, records or what somebody typed.
package trace

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options says what is traced, and where it goes.
type Options struct {
	// Endpoint is the base URL of a receiver of OTLP over HTTP, such as
	// http://collector:4318; /v1/traces is added to it. Empty: what the variables
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_ENDPOINT say.
	Endpoint string
	// Sample is which part of the requests is traced, from 0 to 1, of those that
	// come without a decision of somebody before us.
	Sample float64
	// Service is what the process is called unless OTEL_SERVICE_NAME says else.
	// Version and Instance tell its builds and its processes apart.
	Service, Version, Instance string
	// Getenv reads the standard variables (OTEL_…); nil: there are none.
	Getenv func(string) string
	// Dropped is told how many spans do not get to the receiver: the queue was full,
	// or it did not take them. It may be called concurrently; nil: nobody counts.
	Dropped func(n int)
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Tracer makes spans and sends them off in batches. A nil one is off. All methods
// may run concurrently.
type Tracer struct {
	tracer trace.Tracer
	queue  *queue
}

// Open returns a tracer, or nil when nothing says where spans go. It starts a
// goroutine, which Close ends. The receiver need not be there: spans that it does
// not take are dropped and counted. The error names the setting to mend.
func Open(o Options) (*Tracer, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	to, err := destinationOf(o)
	if err != nil || to == nil {
		return nil, err
	}
	if !(o.Sample >= 0 && o.Sample <= 1) || math.IsNaN(o.Sample) {
		return nil, fmt.Errorf("the part of the requests that is traced must be from 0 to 1, not %v", o.Sample)
	}
	what, err := describe(o)
	if err != nil {
		return nil, err
	}
	if o.Dropped == nil {
		o.Dropped = func(int) {}
	}
	t := &Tracer{queue: newQueue(to, o.Logger, o.Dropped)}
	provider := sdk.NewTracerProvider(
		sdk.WithResource(what),
		sdk.WithSampler(sampler{sdk.TraceIDRatioBased(o.Sample), newAllowance(maxForced)}),
		sdk.WithSpanProcessor(t.queue),
		sdk.WithRawSpanLimits(limits),
	)
	t.tracer = provider.Tracer("tidings", trace.WithInstrumentationVersion(o.Version))
	return t, nil
}

// limits bound what one span holds.
var limits = sdk.SpanLimits{
	AttributeValueLengthLimit: 8 << 10, AttributeCountLimit: 64,
	EventCountLimit: 16, LinkCountLimit: 32,
	AttributePerEventCountLimit: 16, AttributePerLinkCountLimit: 16,
}

// Close sends what waits and ends the goroutine. When ctx ends before, the rest is
// dropped. Spans that end later are dropped.
func (t *Tracer) Close(ctx context.Context) {
	if t != nil {
		t.queue.close(ctx)
	}
}

// Kind is what part a span plays towards other processes.
type Kind int

// The kinds of OpenTelemetry.
const (
	Internal Kind = iota
	Server
	Client
	Producer
	Consumer
)

var kinds = [...]trace.SpanKind{trace.SpanKindInternal, trace.SpanKindServer, trace.SpanKindClient, trace.SpanKindProducer, trace.SpanKindConsumer}

// Span is something that is done. A nil one is not recorded. End ends it; its
// methods are for one goroutine.
type Span struct{ span trace.Span }

// Start begins a span below that of ctx, or a trace where there is none. The
// context that it returns is for what is done meanwhile.
func (t *Tracer) Start(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return recorded(t.tracer.Start(ctx, name, trace.WithSpanKind(kinds[kind])))
}

// Within is a Start that begins no trace: where ctx has no span that is sampled,
// there is nothing to record.
func (t *Tracer) Within(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	return t.Start(ctx, kind, name)
}

func recorded(ctx context.Context, s trace.Span) (context.Context, *Span) {
	if !s.IsRecording() {
		return ctx, nil
	}
	return ctx, &Span{s}
}

// Text adds what is not empty.
func (s *Span) Text(key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number adds a number.
func (s *Span) Number(key string, value int64) {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// Rename gives a span the name that only showed later.
func (s *Span) Rename(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Fail notes that what was done failed, by the code of the failure; the empty code
// is none. ours says that it is not the caller's mistake: then the whole span counts
// as an error.
func (s *Span) Fail(code string, ours bool) {
	if s == nil || code == "" {
		return
	}
	s.span.SetAttributes(attribute.String(ErrorType, code))
	if ours {
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}

// EndAt ends the span at a time that has passed.
func (s *Span) EndAt(at time.Time) {
	if s != nil {
		s.span.End(trace.WithTimestamp(at))
	}
}

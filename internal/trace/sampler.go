package trace

import (
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// sampler does what the span before has decided; where there is none, what refers
// to a span that is recorded is recorded too, and of the rest a part by the id of
// the trace, so that all processes would decide alike.
type sampler struct {
	part sdk.Sampler
	// forced are the traces that others may begin.
	forced *allowance
}

// maxForced is how many requests of a process are recorded in a second because
// whoever sent them says so: anybody can.
const maxForced = 100

// ShouldSample implements sdk.Sampler.
func (s sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	before := trace.SpanContextFromContext(p.ParentContext)
	decided := func(d sdk.SamplingDecision) sdk.SamplingResult {
		return sdk.SamplingResult{Decision: d, Tracestate: before.TraceState()}
	}
	switch {
	case before.IsSampled() && before.IsRemote() && p.Kind == trace.SpanKindServer && !s.forced.take(time.Now()):
		return decided(sdk.Drop)
	case before.IsSampled():
		return decided(sdk.RecordAndSample)
	case before.IsValid():
		return decided(sdk.Drop)
	}
	for _, l := range p.Links {
		if l.SpanContext.IsSampled() {
			return decided(sdk.RecordAndSample)
		}
	}
	return s.part.ShouldSample(p)
}

// Description implements sdk.Sampler.
func (s sampler) Description() string { return "tidings{" + s.part.Description() + "}" }

// allowance is so many a second.
type allowance struct {
	most int

	mu    sync.Mutex
	since time.Time
	taken int
}

func newAllowance(most int) *allowance { return &allowance{most: most} }

func (a *allowance) take(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.since) >= time.Second {
		a.since, a.taken = now, 0
	}
	a.taken++
	return a.taken <= a.most
}

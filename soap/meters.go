package soap

import (
	"time"

	"tidings/graphql"
	"tidings/internal/proc"
)

// meters are what both ends of SOAP count.
type meters struct {
	requests *proc.Counter
	took     *proc.Histogram
	envelope *proc.Tally // too large ones
}

func newMeters(m *proc.Metrics) meters {
	return meters{
		requests: m.Counter("tidings_soap_requests_total", "Envelopes that were answered, by the code of the fault. An api counts those alone to which no worker had an answer.", "operation", "fault"),
		took:     m.Histogram("tidings_soap_seconds", "How long a worker took for an envelope.", "operation"),
		envelope: graphql.LimitsRefused(m).Of("envelope"),
	}
}

// none is what operations are called that there are not, or that were not read.
const none = "unknown"

// begin begins the series of a contract's operations, with 0.
func (s *meters) begin(c *contract) {
	s.requests.Of(none, "OK")
	for _, op := range c.operations {
		s.requests.Of(op.name, "OK")
	}
}

// answered counts an envelope that a worker has answered; empty: of no operation.
func (s *meters) answered(operation string, f *failure, began time.Time) {
	s.count(operation, f)
	s.took.Observe(time.Since(began), nameOr(operation))
}

// count counts an envelope; without a failure it is one that went well.
func (s *meters) count(operation string, f *failure) {
	code := "OK"
	if f != nil {
		code = string(f.Code)
	}
	s.requests.Add(1, nameOr(operation), code)
}

func nameOr(operation string) string {
	if operation == "" {
		return none
	}
	return operation
}

// tooLarge counts an envelope that was refused for its size.
func (s *meters) tooLarge() { s.envelope.Add(1) }

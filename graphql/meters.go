package graphql

import (
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
	"tidings/internal/proc"
)

// meters are what an engine counts. All series are there from the start, so that
// to count is to look into a map that does not change. Without Options.Metrics
// nothing counts.
type meters struct {
	operations map[string]map[fault.Code]*proc.Tally // by kind and code
	took       map[string]*proc.Timing               // by kind
	limits     map[string]*proc.Tally
	resumes    map[string]*proc.Tally // by outcome
	executions *proc.Tally
	replayed   *proc.Tally
	dropped    *proc.Tally
}

// kinds are those of operations; unknown ones were refused before they were
// understood.
const unknownKind = "unknown"

var kinds = []string{"query", "mutation", "subscription", unknownKind}

// limitNames are the limits that an engine refuses by.
var limitNames = []string{
	"depth", "cost", "tokens", "aliases", "roots", "selections", "definitions", "list", "text", "page", "body", "answer", "snapshot", "rate",
}

// The outcomes of a subscription that came with a cursor.
const (
	resumeContinued = "continued" // nothing was missing
	resumeReplayed  = "replayed"  // what was missing came first
	resumeAnew      = "snapshot"  // what was missing is gone: it began with the records as they are
	resumeExpired   = "expired"   // what was missing is gone
	resumeRefused   = "refused"
	resumeFailed    = "failed" // what was missing could not be read, or told
	resumeLeft      = "left"   // the client went, or read too slowly, before all had come
)

var resumeOutcomes = []string{resumeContinued, resumeReplayed, resumeAnew, resumeExpired, resumeRefused, resumeFailed, resumeLeft}

func newMeters(m *proc.Metrics) meters {
	operations := m.Counter("tidings_operations_total", "Operations that were answered, those of SOAP calls too, or refused, by the code of the first error. A subscription counts when it begins.", "type", "code")
	took := m.Histogram("tidings_operation_seconds", "How long queries and mutations took that were understood, those of SOAP calls too.", "type")
	limits := LimitsRefused(m)
	resumes := m.Counter("tidings_resumes_total", "Subscriptions that came with a cursor, once each, by what became of them.", "outcome")
	s := meters{
		operations: map[string]map[fault.Code]*proc.Tally{}, took: map[string]*proc.Timing{},
		limits: tallies(limits, limitNames), resumes: tallies(resumes, resumeOutcomes),
		executions: m.Counter("tidings_executions_total", "Events that were executed and encoded, once for each group that hears of them; tidings_deliveries_total shows for how many.").Of(),
		replayed:   m.Counter("tidings_replayed_events_total", "Results that went to subscribers who were catching up, each executed for one alone.").Of(),
		dropped:    m.Counter("tidings_dropped_events_total", "Changes that were left out for slow clients, which got a later state (onSlow: LATEST) and were told so.", "reason").Of("latest"),
	}
	for _, kind := range kinds {
		s.operations[kind] = map[fault.Code]*proc.Tally{"": operations.Of(kind, "OK")}
		for _, code := range fault.Codes() {
			s.operations[kind][code] = operations.Of(kind, string(code))
		}
	}
	for _, kind := range kinds[:2] {
		s.took[kind] = took.Of(kind)
	}
	return s
}

// LimitsRefused counts what went beyond a limit, by its name.
func LimitsRefused(m *proc.Metrics) *proc.Counter {
	return m.Counter("tidings_limits_refused_total", "What was refused because it went beyond a limit. Connections are in tidings_connections_refused_total.", "limit")
}

func tallies(c *proc.Counter, values []string) map[string]*proc.Tally {
	by := make(map[string]*proc.Tally, len(values))
	for _, v := range values {
		by[v] = c.Of(v)
	}
	return by
}

// operation counts one that ended with a code; empty: without an error.
func (s *meters) operation(kind string, code fault.Code) { s.operations[kind][code].Add(1) }

// executed counts one that ran, and how long it took.
func (s *meters) executed(kind string, code fault.Code, began time.Time) {
	s.operation(kind, code)
	s.took[kind].Observe(time.Since(began))
	if code == fault.PayloadTooLarge {
		s.limit("answer")
	}
}

// limit counts what went beyond a limit.
func (s *meters) limit(name string) { s.limits[name].Add(1) }

// subscribed counts a subscription that began, or was refused; resumes says that
// it came with a cursor.
func (s *meters) subscribed(failed *Response, resumes bool) {
	if failed == nil {
		s.operation("subscription", "")
		return
	}
	s.operation("subscription", failed.Code)
	switch {
	case !resumes:
	case failed.Code == fault.CursorExpired:
		s.resumes[resumeExpired].Add(1)
	default:
		s.resumes[resumeRefused].Add(1)
	}
}

// ruleOfLimit marks errors of requests that go beyond a limit, whose name follows.
const ruleOfLimit = "limit "

// beyondLimit marks the error as that of a limit.
func beyondLimit(name string, err *gqlerror.Error) *gqlerror.Error {
	err.Rule = ruleOfLimit + name
	return err
}

// refusedBy counts what the errors of a refused request are about.
func (s *meters) refusedBy(errs gqlerror.List) {
	if name, ok := strings.CutPrefix(errs[0].Rule, ruleOfLimit); ok {
		s.limit(name)
	}
}

// overLimit is the cause of a field's error that is about a limit.
type overLimit struct {
	name  string
	cause error
}

func (o *overLimit) Error() string { return o.cause.Error() }
func (o *overLimit) Unwrap() error { return o.cause }

// resumption is a subscription that came with a cursor, until it is known what
// became of it: the goroutine that brings it up to the present has it.
type resumption struct {
	cursor string // with which it came
	given  int    // results
	anew   bool   // it began again with the records as they are
	err    error  // why it is at an end
}

func (r *resumption) outcome() string {
	switch {
	case r.anew:
		return resumeAnew
	case r.given > 0:
		return resumeReplayed
	}
	return resumeContinued
}

// caughtUp is called with the shard's lock when nothing is missing any more.
func (m *member) caughtUpLocked() {
	if m.resume == nil {
		return
	}
	m.shard.engine.meters.resumes[m.resume.outcome()].Add(1)
	m.resume = nil
}

// gaveUpLocked is called with the shard's lock when the replay is over.
func (m *member) gaveUpLocked() {
	if m.resume == nil {
		return
	}
	outcome := resumeLeft
	switch err := m.resume.err; {
	case fault.Is(err, fault.CursorExpired):
		outcome = resumeExpired
	case err != nil:
		outcome = resumeFailed
	}
	m.shard.engine.meters.resumes[outcome].Add(1)
	m.resume = nil
}

package graphql

import (
	"context"
	"log/slog"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/proc"
	"tidings/quota"
)

// Admission bounds what a process does at once for its clients, so that one that is
// asked for more than it can do answers as much as before, and as fast, and tells
// the others to try again. What finds no place waits for one for a moment, in a line
// that is bounded, too. Queries have places of their own, since they need the
// processor; mutations and SOAP calls wait for others most of the time, and have
// eight times as many. And where all want the processor only so many of them are
// admitted as it can serve (proc.Strain), queries being the first to be refused.
//
// One caller has three quarters of the places at most, and of those who wait the
// caller is next who has the fewest, so that who asks for a lot, or for what takes
// long, leaves room for others. Callers are told apart as by quota.Name. All methods
// may run concurrently; nil admits everything.
type Admission struct {
	queries, changes, calls *line
	strain                  *proc.Strain

	shed *proc.Counter
	log  *slog.Logger
	told sparing
}

const (
	// changesToQueries is how many mutations, and SOAP calls, are at work for each query.
	changesToQueries = 8
	// changesWeigh is how much more of them is taken than of queries while the
	// processors are what there is too little of.
	changesWeigh = 3
	// admissionWait is how long a request waits for a place.
	admissionWait = 500 * time.Millisecond
)

// NewAdmission returns one with places for so many queries at once. As many more
// may wait.
func NewAdmission(queries int, m *proc.Metrics, log *slog.Logger) *Admission {
	a := &Admission{queries: newLine(queries), changes: newLine(queries * changesToQueries), calls: newLine(queries * changesToQueries), strain: proc.NewStrain(nil, nil), log: log}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.shed = m.Counter("tidings_requests_shed_total", "Requests that were refused because the process had too much to do, by what they are: query, mutation, soap.", "kind").Closed([]string{"query", "mutation", "soap"})
	lines := []*line{a.queries, a.changes, a.calls}
	m.Gauge("tidings_requests_running", "Queries, mutations and SOAP calls of clients that are at work.", func() float64 {
		n := 0
		for _, l := range lines {
			n += l.running()
		}
		return float64(n)
	})
	m.Gauge("tidings_requests_waiting", "Queries, mutations and SOAP calls of clients that wait for a place, for half a second at most.", func() float64 {
		n := 0
		for _, l := range lines {
			n += l.queued()
		}
		return float64(n)
	})
	m.Gauge("tidings_requests_admitted_ratio", "Share of the requests that are admitted, of 1: less while there is more to do than the processors can.", a.strain.Share)
	return a
}

// Call admits a SOAP call; the caller calls leave when it is answered. Nobody knows
// yet who calls but by address. The error is UNAVAILABLE.
func (a *Admission) Call(ctx context.Context) (leave func(), err error) {
	if a == nil {
		return func() {}, nil
	}
	return a.enter(ctx, a.calls, auth.Principal{}, "soap")
}

// operation admits a query or a mutation.
func (a *Admission) operation(ctx context.Context, who auth.Principal, op *operation) (leave func(), err error) {
	switch {
	case a == nil:
		return func() {}, nil
	case op.kind == ast.Mutation:
		return a.enter(ctx, a.changes, who, "mutation")
	}
	return a.enter(ctx, a.queries, who, "query")
}

func (a *Admission) enter(ctx context.Context, l *line, who auth.Principal, kind string) (leave func(), err error) {
	weight := 1.0
	if l != a.queries {
		weight = changesWeigh
	}
	if a.strain.Take(weight) {
		if leave, entered := l.enter(ctx, quota.Name(ctx, who)); entered {
			return leave, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	a.shed.Add(1, kind)
	if left, due := a.told.line(); due {
		a.log.LogAttrs(ctx, slog.LevelWarn, "there is more to do than this process can: requests are refused", slog.String("op_type", kind), left)
	}
	return nil, errOverloaded
}

// errOverloaded is what a client is told who came at the wrong moment.
var errOverloaded = &fault.Error{Code: fault.Unavailable, Message: "the service has too much to do; try again in a moment", RetryAfter: 1}

// overloaded is the response to an operation that was not admitted.
func (e *Engine) overloaded(ctx context.Context, op *operation, err error) *Response {
	if x := ExchangeOf(ctx); x != nil {
		x.shed = true
	}
	f := fault.Of(err)
	e.meters.operation(string(op.kind), f.Code)
	resp := e.failure(gqlerror.List{executionError(f, nil, nil)})
	resp.RetryAfter = time.Duration(f.RetryAfter) * time.Second
	return resp
}

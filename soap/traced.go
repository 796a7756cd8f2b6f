package soap

import (
	"context"
	"net/http"
	"strconv"

	"tidings/auth"
	"tidings/bus"
	"tidings/graphql"
	"tidings/internal/trace"
)

// traced is run, in a trace that the gateway goes on with: its span is named by the
// operation, of which a contract has so many and no more.
func (s *Service) traced(ctx context.Context, who auth.Principal, op *operation, r *request) (out []byte, f *failure) {
	t := s.bus.Tracer()
	if t == nil {
		return s.run(ctx, who, op, r)
	}
	method := s.options.Service + "/" + op.name
	ctx, span := t.Within(ctx, trace.Server, method)
	span.Text(trace.RPCSystem, "soap")
	span.Text(trace.RPCMethod, method)
	defer span.End()
	if out, f = s.run(ctx, who, op, r); f != nil {
		span.Fail(string(f.Code), f.ours())
	}
	return out, f
}

// noteStatus lets the edge know how an envelope was answered.
func noteStatus(r *http.Request, answer bus.Message) {
	if x := graphql.ExchangeOf(r.Context()); x != nil {
		x.Status, _ = strconv.Atoi(answer.Header.Get(headerStatus)) // 0: it is not known
	}
}

package soap

import (
	"context"
	"fmt"

	"tidings/auth"
	"tidings/graphql"
)

// kind is how an operation is carried out.
type kind string

const (
	// kindDocument: by its GraphQL document, whose variables are the arguments.
	kindDocument kind = "document"
	// kindPull: by its document, for a caller who may wait for something to come.
	kindPull kind = "pull"
	// kindInfo: by the service itself, whoever asks.
	kindInfo kind = "info"
)

// run carries out the operation that r asks for and writes the answer.
func (s *Service) run(ctx context.Context, who auth.Principal, op *operation, r *request) ([]byte, *failure) {
	switch op.kind {
	case kindBatch:
		return s.runBatch(ctx, who, op, r)
	case kindDocument:
		return s.runDocument(ctx, who, op, r)
	case kindPull:
		return s.runPull(ctx, who, op, r)
	case kindSubmit, kindJob, kindCancelJob, kindJobResult:
		return s.runJob(ctx, who, op, r)
	}
	return nil, failed(fmt.Errorf("%s: an operation of kind %q is not carried out here", op.name, op.kind))
}

// runDocument carries out an operation of kindDocument.
func (s *Service) runDocument(ctx context.Context, who auth.Principal, op *operation, r *request) ([]byte, *failure) {
	variables, err := s.contract.variables(op, r.payload)
	if err != nil {
		return nil, failed(err)
	}
	asked := graphql.Request{Query: op.document, Variables: variables, Trusted: true}
	if op.mutation {
		if f := s.identify(r, &asked); f != nil {
			return nil, f
		}
	} else if err := s.catchUp(ctx); err != nil {
		return nil, failed(err)
	}
	response := s.engine.Execute(ctx, who, asked)
	out, f := s.contract.answered(op, r, response.Body)
	return out, r.explained(f)
}

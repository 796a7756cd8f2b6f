package graphql

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/resource"
	"tidings/schema"
)

// Request asks for one operation. docs/operations.md describes its members.
type Request struct {
	Query string `json:"query"`
	// DocumentID and QueryID name a persisted document, instead of Query or
	// beside it.
	DocumentID    string          `json:"documentId"`
	QueryID       string          `json:"queryId"`
	OperationName string          `json:"operationName"`
	Variables     json.RawMessage `json:"variables"`  // an object, null or nothing
	Extensions    json.RawMessage `json:"extensions"` // an object, null or nothing

	// What follows is said by headers (ReadHeader) or by the extensions.

	// Position is what the view must show before the operation runs; empty: as it is.
	Position string `json:"-"`
	// WantPosition makes the answer tell a position in its extensions.
	WantPosition bool `json:"-"`
	// WantCost makes the answer, or each event, tell its cost in its extensions.
	WantCost bool `json:"-"`
	// IdempotencyKey makes a mutation that is sent again harmless; empty: it is not.
	IdempotencyKey string `json:"-"`

	// Sent names what a mutation without a key does; nil does not.
	Sent *Sent `json:"-"`

	// Trusted marks a document that is the service's own: it runs although it
	// is not persisted, and may be larger than those of strangers.
	Trusted bool `json:"-"`
	// Counted marks a part of something that was counted as used when it began: it
	// is not counted once more. What one operation may cost holds all the same.
	Counted bool `json:"-"`
	// Moved marks a subscription that its caller has already, at another engine:
	// it is not counted as used once more.
	Moved bool `json:"-"`
}

// Sent names what a mutation does, so that one that is sent again, because its
// answer was lost on the way, writes nothing twice. Its errors are not kept: what
// failed is tried again.
type Sent struct {
	// ID is a UUIDv7, the same each time the mutation is sent; Since a position of
	// the log from before the first time.
	ID    string
	Since uint64
	// Again: it has been sent before.
	Again bool
}

// claim is that of a request which was sent without a key.
func (s *Sent) claim() *claim {
	return &claim{again: s.Again, first: !s.Again, entry: entry{Command: s.ID, Since: s.Since}}
}

// operation is a request that was understood: what to run, with which values.
type operation struct {
	kind     ast.Operation
	document *document
	def      *ast.OperationDefinition
	plan     *plan
	vars     map[string]any // coerced
	// root is a subscription's root field.
	root  subscribed
	asked asked
	from  uint64           // the view showed this when it began; only when the position is wanted
	claim *claim           // of the idempotency key; nil without one
	made  *resource.Record // what the root field came to already, as one of many; nil: it is submitted
	moved bool             // its caller had it at another engine
	cost  Cost             // estimated
}

// subscribed is where a subscription's values come from: a resource's changes,
// a function, or the bus.
type subscribed struct {
	generated *schema.Root
	function  *Function
	binding   *schema.Binding
	args      map[string]any // coerced
}

// prepare parses, validates, coerces and plans. Either result is nil.
func (e *Engine) prepare(ctx context.Context, r Request) (*operation, *Response) {
	keep, unknown := e.identify(ctx, &r)
	if unknown != nil {
		return nil, e.refusal(ctx, unknown)
	}
	if r.Query == "" {
		return nil, e.failure(gqlerror.List{refuse(nil, fault.BadRequest, "Must provide a query.")})
	}
	doc, errs := e.document(r.Query, r.Trusted)
	if errs != nil {
		return nil, e.failure(errs)
	}
	if keep != "" {
		e.register(ctx, keep, doc.text)
	}
	def, err := doc.operation(r.OperationName)
	if err != nil {
		return nil, e.failure(gqlerror.List{err})
	}
	op := &operation{kind: def.Operation, document: doc, def: def, asked: r.asked()}
	if op.vars, errs = e.inputs.variables(def.VariableDefinitions, r.Variables); errs != nil {
		return nil, e.failure(errs)
	}
	if op.plan, err = doc.plan(e, def, op.vars); err != nil {
		return nil, e.failure(gqlerror.List{err})
	}
	if op.kind == ast.Subscription {
		if err := e.subscribe(op); err != nil {
			return nil, e.failure(gqlerror.List{err})
		}
	}
	return op, nil
}

// subscribe finds where a subscription's values come from.
func (e *Engine) subscribe(op *operation) *gqlerror.Error {
	root := op.plan.roots[0]
	args, bad := e.inputs.arguments(root.args, op.vars)
	if bad == nil {
		bad = e.options.Limits.tooLarge(args)
	}
	if bad != nil {
		e.meters.limit(bad.limit)
		return executionError(fault.Input(bad.path(), "%s", bad.text), root.nodes, nil)
	}
	op.root = subscribed{generated: root.generated, function: root.function, args: args}
	op.root.binding = e.model.Binding("Subscription", root.nodes[0].Name)
	return nil
}

// allows returns the error of a subscription to a function that the caller may
// not use, nil for every other.
func (op *operation) allows(who auth.Principal) *gqlerror.Error {
	f := op.plan.roots[0]
	if f.rule == nil || who.May(*f.rule, "") {
		return nil
	}
	return executionError(fault.Of(forbidden(&f.field)), f.nodes, []step{{name: f.name}})
}

// key is equal for operations that give equal answers to equal callers: the
// same document, operation and values of the variables.
func (op *operation) key() string {
	buf := append([]byte(op.document.text), 0)
	buf = append(append(buf, op.def.Name...), 0)
	sum := sha256.Sum256(appendValue(buf, op.vars))
	return string(sum[:])
}

// rules returns every role that a read rule of the plan asks for. When all is
// Anyone the answer is the same for everybody; without Owner it depends on the
// caller's roles alone.
func (op *operation) rules() schema.Roles { return op.plan.roles }

// Kind returns what kind of operation the request asks for: "query",
// "mutation" or "subscription". The error says why it cannot be told.
//
// Nothing is read for a caller, the principal in ctx, whose requests are used up.
func (e *Engine) Kind(ctx context.Context, r Request) (string, error) {
	if err := e.options.Quota.Peek(ctx, auth.FromContext(ctx)); err != nil {
		e.meters.limit("rate")
		return "", err
	}
	if _, err := e.identify(ctx, &r); err != nil {
		return "", err
	}
	doc, errs := e.document(r.Query, r.Trusted)
	if errs != nil {
		return "", fault.New(codeOf(errs[0]), "%s", errs[0].Message)
	}
	op, err := doc.operation(r.OperationName)
	if err != nil {
		return "", fault.New(codeOf(err), "%s", err.Message)
	}
	return string(op.Operation), nil
}

// timeFor is how long an operation may take.
func (e *Engine) timeFor(op *operation) time.Duration {
	if op.kind == ast.Mutation {
		return e.mutationTime()
	}
	return e.options.Timeout
}

func (e *Engine) mutationTime() time.Duration { return e.options.Timeout + e.options.Patience }

// Execute runs a query or a mutation to its end, at most for Options.Timeout, and
// a mutation for Options.Patience on top.
// It never fails: errors are in the response. A subscription is refused here,
// use Subscribe.
func (e *Engine) Execute(ctx context.Context, who auth.Principal, r Request) (answer Response) {
	ctx, span := e.tracing(ctx)
	defer func() { traced(span, answer.Code) }()
	op, failed := e.admit(ctx, who, r)
	if failed != nil {
		e.meters.operation(unknownKind, failed.Code)
		return *failed
	}
	e.known(span, op)
	if r.Trusted { // what asks for it was admitted
		return e.execute(ctx, who, op)
	}
	leave, err := e.options.Admission.operation(ctx, who, op)
	if err != nil {
		return *e.overloaded(ctx, op, err)
	}
	return e.placed(ctx, who, op, leave)
}

// placed runs an operation that has a place, and leaves that: who takes the answer
// takes the time that they like, and must not hold it meanwhile.
func (e *Engine) placed(ctx context.Context, who auth.Principal, op *operation, leave func()) Response {
	defer leave()
	return e.execute(ctx, who, op)
}

// execute runs an operation that was admitted, and counts it.
func (e *Engine) execute(ctx context.Context, who auth.Principal, op *operation) Response {
	began := time.Now()
	resp := e.perform(ctx, who, op)
	e.meters.executed(string(op.kind), resp.Code, began)
	return resp
}

func (e *Engine) perform(ctx context.Context, who auth.Principal, op *operation) Response {
	if op.kind == ast.Subscription {
		return *e.failure(gqlerror.List{refuse(op.def.Position, fault.BadRequest,
			"A subscription needs a connection that stays open: use WebSocket, or ask for text/event-stream.")})
	}
	if op.kind == ast.Mutation && op.asked.key != "" && op.claim == nil {
		return e.once(ctx, who, op)
	}
	if op.kind == ast.Mutation && op.asked.sent != nil && op.claim == nil {
		op.claim = op.asked.sent.claim()
	}
	if failed := e.begin(ctx, op); failed != nil {
		return *failed
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeFor(op))
	defer cancel()
	r := e.newRun(ctx, e.options.MaxAnswer, who, op)
	r.exchange = ExchangeOf(ctx)
	defer r.done()
	if len(e.options.Extensions) == 0 { // the frame would be empty
		r.execute(ctx)
		return r.response(ctx, &graphql.Response{Data: r.data(), Errors: r.presented()})
	}
	handler, ctx := e.frame.DispatchOperation(context.WithValue(ctx, runKey{}, r), &graphql.OperationContext{
		RawQuery:               op.document.text,
		Variables:              op.vars,
		OperationName:          op.def.Name,
		Doc:                    op.document.ast,
		Operation:              op.def,
		RecoverFunc:            graphql.DefaultRecover,
		ResolverMiddleware:     noMiddleware,
		RootResolverMiddleware: noRootMiddleware,
	})
	return r.response(ctx, handler(ctx))
}

// runKey is where an execution's run travels through gqlgen's frame.
type runKey struct{}

func noMiddleware(ctx context.Context, next graphql.Resolver) (any, error) { return next(ctx) }

func noRootMiddleware(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	return next(ctx)
}

// executable is the engine as gqlgen's executor sees it.
type executable struct{ engine *Engine }

func (x executable) Schema() *ast.Schema { return x.engine.schema }

// Complexity is not known to gqlgen: operations are limited before they are planned.
func (x executable) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	return 0, false
}

// Exec runs the operation whose run is in ctx, once.
func (x executable) Exec(ctx context.Context) graphql.ResponseHandler {
	r := ctx.Value(runKey{}).(*run)
	ran := false
	return func(ctx context.Context) *graphql.Response {
		if ran {
			return nil
		}
		ran = true
		r.execute(ctx)
		return &graphql.Response{Data: r.data(), Errors: r.presented()}
	}
}

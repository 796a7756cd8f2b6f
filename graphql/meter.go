package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/quota"
)

// HeaderCost asks by "1" for extensions.cost in the response: what the
// operation was estimated to cost, the caller's budget, and what it did cost.
// Where there are no headers the request's own extensions ask: {"cost": true}.
const HeaderCost = "Tidings-Cost"

type costKey struct{}

// askedFor returns the context of a request whose headers may ask for its cost.
func askedFor(r *http.Request) context.Context {
	if r.Header.Get(HeaderCost) != "1" {
		return r.Context()
	}
	return context.WithValue(r.Context(), costKey{}, true)
}

// admit prepares a request that the caller may make: the request is counted
// before it is read, its cost before it runs. Either result is nil.
func (e *Engine) admit(ctx context.Context, who auth.Principal, r Request) (*operation, *Response) {
	if err := e.options.Quota.Request(ctx, who); err != nil {
		return nil, e.limited(ctx, err)
	}
	op, failed := e.prepare(ctx, r)
	if failed != nil {
		return nil, failed
	}
	estimated, err := e.price(op)
	if err != nil {
		return nil, e.refusal(ctx, err)
	}
	op.cost = Cost{Estimated: estimated, Max: e.options.Limits.Cost.budget(who)}
	op.told = asksForCost(ctx, r)
	if estimated > op.cost.Max {
		if err := e.tooDear(ctx, who, op); err != nil {
			return nil, e.failure(gqlerror.List{err})
		}
	}
	if err := e.options.Quota.Spend(ctx, who, estimated); err != nil {
		return nil, e.limited(ctx, err)
	}
	return op, nil
}

// tooDear refuses an operation beyond the budget, or tells the log of it.
func (e *Engine) tooDear(ctx context.Context, who auth.Principal, op *operation) *gqlerror.Error {
	if e.options.Limits.Measure {
		e.log.LogAttrs(ctx, slog.LevelWarn, "an operation beyond its cost limit was let pass", slog.String("operation", short(op.def.Name)),
			slog.Int("estimated", op.cost.Estimated), slog.Int("max", op.cost.Max), slog.String("subject", who.Subject))
		return nil
	}
	err := refuse(op.def.Position, fault.CostLimitExceeded, "the operation is estimated to cost %d; at most %d is allowed: ask for shorter lists, or for less at a time",
		op.cost.Estimated, op.cost.Max)
	err.Extensions["cost"] = map[string]any{"estimated": int64(op.cost.Estimated), "max": int64(op.cost.Max)}
	return err
}

// measureDepth tells the log of a document that is too deep, when it is not refused.
func (e *Engine) measureDepth(depth int) {
	if l := &e.options.Limits; l.Measure && depth > l.Depth {
		e.log.LogAttrs(context.Background(), slog.LevelWarn, "an operation beyond the depth limit was let pass", slog.Int("depth", depth), slog.Int("max", l.Depth))
	}
}

// limited is the response to a caller who has used too much.
func (e *Engine) limited(ctx context.Context, err error) *Response {
	resp := e.refusal(ctx, err)
	if x, ok := errors.AsType[*quota.Exceeded](err); ok {
		resp.RetryAfter = x.After
	}
	return resp
}

// asksForCost reports whether the caller wants to know what the operation costs.
func asksForCost(ctx context.Context, r Request) bool {
	if asked, _ := ctx.Value(costKey{}).(bool); asked {
		return true
	}
	if !bytes.Contains(r.Extensions, []byte(`"cost"`)) {
		return false
	}
	var x struct {
		Cost bool `json:"cost"`
	}
	return json.Unmarshal(r.Extensions, &x) == nil && x.Cost
}

// spent adds what came of a root field to the cost, when it is to be told.
func (r *run) spent(f *root, a answer) {
	if r.op.told {
		r.cost += r.actual(r.op.kind, f, a)
	}
}

// costs returns the operation's cost for the response.
func (r *run) costs() map[string]any {
	c := r.op.cost
	return map[string]any{"estimated": int64(c.Estimated), "max": int64(c.Max), "actual": int64(whole64(r.cost))}
}

package graphql

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/quota"
)

// admit prepares a request that the caller may make: the request is counted
// before it is read, its cost before it runs. Either result is nil.
func (e *Engine) admit(ctx context.Context, who auth.Principal, r Request) (*operation, *Response) {
	counted := e.options.Quota
	if r.Moved || r.Counted {
		counted = nil
	}
	if err := counted.Request(ctx, who); err != nil {
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
	if estimated > op.cost.Max {
		if err := e.tooDear(ctx, who, op); err != nil {
			return nil, e.failure(gqlerror.List{err})
		}
	}
	if err := counted.Spend(ctx, who, estimated); err != nil {
		return nil, e.limited(ctx, err)
	}
	return op, nil
}

// tooDear refuses an operation beyond the budget, or tells the log of it.
func (e *Engine) tooDear(ctx context.Context, who auth.Principal, op *operation) *gqlerror.Error {
	if e.options.Limits.Measure {
		e.log.LogAttrs(ctx, slog.LevelWarn, "an operation beyond its cost limit was let pass", slog.String("op_name", short(op.def.Name)),
			slog.Int("estimated", op.cost.Estimated), slog.Int("max", op.cost.Max), slog.String("user", who.Subject))
		return nil
	}
	err := beyondLimit("cost", refuse(op.def.Position, fault.CostLimitExceeded, "the operation is estimated to cost %d; at most %d is allowed: ask for shorter lists, or for less at a time",
		op.cost.Estimated, op.cost.Max))
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
	e.meters.limit("rate")
	resp := e.refusal(ctx, err)
	if x, ok := errors.AsType[*quota.Exceeded](err); ok {
		resp.RetryAfter = x.After
	}
	return resp
}

// spent adds what came of a root field to the cost, when it is to be told.
func (r *run) spent(f *root, a answer) {
	if r.op.asked.cost {
		r.cost += r.actual(r.op.kind, f, a)
	}
}

// costs returns the operation's cost for the response.
func (r *run) costs() map[string]any {
	c := r.op.cost
	return map[string]any{"estimated": int64(c.Estimated), "max": int64(c.Max), "actual": int64(whole64(r.cost))}
}

// priceTag tells apart, among subscriptions that want to know their cost, those
// whose events say another budget: each has a group of its own, and the events
// of those that do not ask stay what they were.
func (op *operation) priceTag() string {
	if !op.asked.cost {
		return ""
	}
	return "\x00cost " + strconv.Itoa(op.cost.Max)
}

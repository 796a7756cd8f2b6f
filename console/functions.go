package console

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
)

// functions answer the fields of the contract.
func (c *Console) functions() map[string]graphql.Function {
	return map[string]graphql.Function{
		"Query.whoami":            {Resolve: whoami},
		"Mutation.endConnection":  {Resolve: c.endConnection},
		"Mutation.endOperation":   {Resolve: c.endOperation},
		"Mutation.revoke":         {Resolve: c.revoke},
		"Subscription.overview":   {Subscribe: c.overview},
		"Subscription.operations": {Subscribe: c.live},
	}
}

func whoami(_ context.Context, call graphql.Call) (any, error) {
	who := map[string]any{"subject": call.Who.Subject, "expires": nil}
	if !call.Who.Expires.IsZero() {
		who["expires"] = call.Who.Expires.UTC()
	}
	return who, nil
}

func (c *Console) endConnection(ctx context.Context, call graphql.Call) (any, error) {
	return c.send(ctx, text(call, "process"), order{By: call.Who.Subject, Connection: text(call, "connection")})
}

func (c *Console) endOperation(ctx context.Context, call graphql.Call) (any, error) {
	id := text(call, "operation")
	return c.send(ctx, text(call, "process"), order{By: call.Who.Subject, Connection: text(call, "connection"), Operation: &id})
}

func (c *Console) revoke(ctx context.Context, call graphql.Call) (any, error) {
	now := time.Now().UTC()
	subject := text(call, "subject")
	if strings.TrimSpace(subject) == "" {
		return nil, fault.New(fault.BadUserInput, "name the subject whose tokens are to count no more")
	}
	if err := c.opts.Revoke(ctx, auth.Revocation{Subject: subject, Before: now, At: now}); err != nil {
		return nil, err
	}
	c.revoked(ctx, call.Who.Subject, subject)
	return true, nil
}

// revoked tells the log whose tokens were taken back, and by whom.
func (c *Console) revoked(ctx context.Context, by, subject string) {
	c.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "an operator has revoked the tokens of a subject", slog.String("user", by), slog.String("id", clip(subject, maxName)))
}

// overview yields what all processes say.
func (c *Console) overview(ctx context.Context, call graphql.Call) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		after, err := moment(call, "after")
		if err != nil {
			yield(nil, err)
			return
		}
		done, err := c.begin(nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		for {
			list, more := c.nextOverviews(after)
			for _, o := range list {
				if !yield(o.json, nil) {
					return
				}
				after = o.at
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

// live yields the operations that are asked for.
func (c *Console) live(ctx context.Context, call graphql.Call) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		q, err := questionOf(call)
		if err != nil {
			yield(nil, err)
			return
		}
		done, err := c.begin(&q)
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		for {
			l, there, more := c.nextList(q)
			if there && !yield(l, nil) {
				return
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

func questionOf(call graphql.Call) (question, error) {
	first, _ := call.Args["first"].(int64) // null is none
	q := question{Process: text(call, "process"), Search: strings.TrimSpace(text(call, "search")), Order: text(call, "orderBy"), First: int(first)}
	if first < 0 || first > maxFirst {
		return q, fault.New(fault.BadUserInput, "first is to be 0 to %d", maxFirst)
	}
	if !q.good() {
		return q, fault.New(fault.BadUserInput, "the search is to have %d bytes at most, and the process to be one that the overview shows", maxSearch)
	}
	return q, nil
}

// text is an argument; empty when it is null or was not given.
func text(call graphql.Call, name string) string {
	s, _ := call.Args[name].(string)
	return s
}

// moment is an argument that is a time; zero when it is null or was not given.
func moment(call graphql.Call, name string) (time.Time, error) {
	s := text(call, name)
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if t.After(time.Now()) { // by another clock: what comes is new to them
		return time.Time{}, nil
	}
	if err != nil {
		return t, fault.New(fault.BadUserInput, "%s is to be a time such as 2006-01-02T15:04:05Z", name)
	}
	return t, nil
}

package graphql

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"tidings/auth"
)

// call subscribes to a function: its values are executed for this subscriber
// alone, on a goroutine that goes as fast as the sink and ends with stop, with
// ctx, or with Close.
func (e *Engine) call(ctx context.Context, who auth.Principal, op *operation, s Sink) (stop func(), failed *Response) {
	ctx, cancel := context.WithCancel(ctx)
	started := e.live.spawn(func(life context.Context) {
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		if err := e.yieldTo(ctx, who, op, s); err != nil {
			s.End(e.errorList(ctx, err))
			return
		}
		s.End(nil)
	})
	if !started {
		cancel()
		return nil, e.refusal(ctx, errStopping)
	}
	return cancel, nil
}

// yieldTo hands the function's values to the sink. The error is the one that
// no result can carry: a panic, or the end of ctx.
func (e *Engine) yieldTo(ctx context.Context, who auth.Principal, op *operation, s Sink) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e.log.LogAttrs(ctx, slog.LevelError, "a function panicked", slog.String("function", op.plan.roots[0].nodes[0].Name),
				slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			err = errExecution
		}
	}()
	for value, failure := range op.root.function.Subscribe(ctx, Call{Who: who, Args: op.root.args}) {
		if err := pace(ctx, s); err != nil {
			return err
		}
		if !s.Next(e.yielded(ctx, who, op, value, failure, "", nil), "") || failure != nil {
			return nil
		}
	}
	return ctx.Err()
}

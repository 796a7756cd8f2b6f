package boot

import (
	"context"
	"log/slog"

	"tidings/internal/proc"
)

// running are parts of an edition while they run.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// run starts the parts. They run until stop is called, whatever becomes of ctx;
// fail gets the error of one that has ended by itself.
func run(ctx context.Context, fail func(error), parts ...proc.Part) *running {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		if err := proc.Run(ctx, slog.New(slog.DiscardHandler), parts...); err != nil {
			fail(err)
		}
	}()
	return x
}

// stop stops the parts, the last one first, and returns when they have ended.
// Nil was never started.
func (x *running) stop() {
	if x == nil {
		return
	}
	x.cancel()
	<-x.done
}

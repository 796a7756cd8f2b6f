package boot

import (
	"context"
	"log/slog"
	"time"
)

// emptying is closed when it is for the rooms to empty the process: in a worker
// that was asked to drain. In an api the edge does so.
func (r *Rooms) emptying() <-chan struct{} {
	if r.role.Edge || r.emptied {
		return nil
	}
	return r.Drain.Begun()
}

// empty takes no commands, calls and jobs any more, and returns when those are
// answered that were taken: a command takes as long as its caller waits, at most. A job
// goes back to the others. What was read goes on being read.
func (r *Rooms) empty(ctx context.Context) {
	r.emptied = true
	start := time.Now()
	r.log.LogAttrs(ctx, slog.LevelInfo, "draining", slog.Int("taken", r.Bus.Taken()))
	r.Drain.Run(r.current().writing.stop)
	r.log.LogAttrs(ctx, slog.LevelInfo, "drained", slog.Duration("took", time.Since(start)))
}

// left is what remains of a process that drains.
func (r *Rooms) left() int {
	switch {
	case r.clients != nil:
		return r.clients()
	case r.Bus != nil:
		return r.Bus.Taken()
	}
	return 0
}

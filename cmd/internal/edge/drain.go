package edge

import (
	"context"
	"log/slog"
	"time"
)

// closing is how long the last sockets may take to say goodbye.
const closing = 5 * time.Second

// connections are the sockets and event streams that there are.
func (e *edge) connections() int {
	live := e.hub.Stats()
	return live.Sockets + live.Streams
}

// empty sends the clients elsewhere: readiness is off, a while for the load
// balancers to see it, during which everything is answered but new sockets, then
// the connections are closed evenly over the window. It takes no longer than the
// delay, the window and closing together: what has not said goodbye by then is cut.
func (e *edge) empty(ctx context.Context, goAway func()) {
	start, live := time.Now(), e.hub.Stats()
	e.log.LogAttrs(ctx, slog.LevelInfo, "draining", slog.Int("sockets", live.Sockets), slog.Int("streams", live.Streams),
		slog.Duration("delay", e.delay), slog.Duration("window", e.window))
	e.hub.Refuse()
	pause := time.NewTimer(e.delay)
	defer pause.Stop()
	<-pause.C
	goAway() // over HTTP/2 who comes back would come back here
	ctx, cancel := context.WithTimeout(ctx, e.window+closing)
	defer cancel()
	if err := e.hub.Drain(ctx); err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "not all connections have ended in the time of the drain, and those that are left were cut", slog.Any("error", err), slog.Duration("took", time.Since(start)))
		return
	}
	e.log.LogAttrs(ctx, slog.LevelInfo, "drained", slog.Duration("took", time.Since(start)))
}

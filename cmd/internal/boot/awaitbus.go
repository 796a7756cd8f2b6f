package boot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tidings/bus"
)

const (
	// busAgain is how often a bus that is not there is looked for.
	busAgain = time.Second
	// busTold is how often the log says that it is still not there.
	busTold = 15 * time.Second
)

// awaitBus opens the bus. Where somebody listens to why that is not possible yet
// it waits until the servers are there: pods start in any order, and one that ends
// because the bus is late is started again later and later. What a
// setting is to blame for is an error at once.
func (r *Rooms) awaitBus(ctx context.Context) (*bus.Bus, error) {
	o := r.config.bus(r.role.onBus(), r.log)
	o.Tracer = r.Tracer
	var told time.Time
	again := time.NewTicker(busAgain)
	defer again.Stop()
	for {
		b, err := bus.Open(ctx, o)
		if err == nil || r.role.Waiting == nil || !errors.Is(err, bus.ErrAbsent) {
			return b, err
		}
		r.role.Waiting(err)
		if time.Since(told) > busTold {
			r.log.LogAttrs(ctx, slog.LevelWarn, "waiting for the bus", slog.Any("error", err))
			told = time.Now()
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

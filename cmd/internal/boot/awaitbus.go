package boot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tidings/bus"
	"tidings/fault"
)

const (
	// busAgain is how often it is tried again what the bus is not ready for.
	busAgain = time.Second
	// busTold is how often the log says that it still is not.
	busTold = 15 * time.Second
)

// await does what a start needs of the bus. Where somebody listens to why that is not
// possible yet it tries until it is: pods start in any order, and one that ends
// because the bus, or what is kept there, is late is started again later and later.
// What a setting or a permission is to blame for is an error at once. Step may be
// called several times.
func (r *Rooms) await(ctx context.Context, step func(context.Context) error) error {
	var told time.Time
	again := time.NewTicker(busAgain)
	defer again.Stop()
	for {
		err := step(ctx)
		if err == nil || r.role.Waiting == nil || !late(err) {
			return err
		}
		r.role.Waiting(err)
		if time.Since(told) > busTold {
			r.log.LogAttrs(ctx, slog.LevelWarn, "waiting for the bus", slog.Any("error", err))
			told = time.Now()
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// late reports whether time, or somebody else, cures an error of the bus: its servers
// are not there yet, what they are to keep was not set up yet, or they do not answer
// just now.
func late(err error) bool {
	switch {
	case errors.Is(err, bus.ErrAbsent), errors.Is(err, bus.ErrNotSetUp):
		return true
	case errors.Is(err, bus.ErrDenied):
		return false
	}
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) || errors.Is(err, context.DeadlineExceeded)
}

// awaitBus opens the bus.
func (r *Rooms) awaitBus(ctx context.Context) (b *bus.Bus, err error) {
	o := r.config.bus(r.role.onBus(), r.log)
	o.Tracer = r.Tracer
	err = r.await(ctx, func(ctx context.Context) error {
		b, err = bus.Open(ctx, o)
		return err
	})
	return b, err
}

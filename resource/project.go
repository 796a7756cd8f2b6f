package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"tidings/bus"
	"tidings/internal/sleep"
	"tidings/schema"
	"tidings/view"
)

// Projector fills the view that processes share (view.Projection) from the log.
// Every worker has one, and one of them does it; the others stand by.
type Projector struct {
	Bus   *bus.Bus
	Model *schema.Model
	View  view.SharedOptions
}

// projectAgain is how long after a failure a projector begins anew.
const projectAgain = time.Second

// Run fills the view until ctx ends, and returns nil then. What keeps it from
// doing so is logged and tried again: only those who read wait for it.
func (p Projector) Run(ctx context.Context) error {
	log := p.View.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for {
		err := p.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		log.LogAttrs(ctx, slog.LevelWarn, "the shared view is not filled by this process; it tries again", slog.Any("error", err))
		if sleep.For(ctx, projectAgain) != nil {
			return nil
		}
	}
}

// once fills the view until something fails. A feed without watchers reads the log.
func (p Projector) once(ctx context.Context) error {
	v, err := view.OpenProjection(ctx, p.Model, p.Bus.LogID(), p.View)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // its connection is gone, or is not needed any more
	if err := Recognize(ctx, p.Bus, v.Position(), v.Marks()); err != nil {
		if errors.Is(err, bus.ErrLogReplaced) {
			err = errors.Join(fmt.Errorf("%w: the shared view is built anew", err), v.Condemn())
		}
		return err
	}
	f := NewFeed(p.Bus, p.Model, v, FeedOptions{Ring: 1, Logger: p.View.Logger})
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.Run(ctx) })
	g.Go(func() error { return v.Live(ctx) })
	g.Go(func() error {
		select {
		case <-f.Ready():
			return v.Finish(ctx)
		case <-ctx.Done():
			return nil
		}
	})
	return g.Wait()
}

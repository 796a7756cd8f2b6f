package boot

import (
	"context"
	"errors"
	"log/slog"

	"tidings/bus"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// openView opens a view's files. A view that shows what the log does not hold
// (the log was restored from a backup, or a power cut took its end) is built anew.
func (r *Rooms) openView(ctx context.Context, m *schema.Model, o view.Options) (*view.View, error) {
	v, err := view.Open(ctx, m, r.Bus.LogID(), o)
	if err != nil {
		return nil, err
	}
	switch err := resource.Recognize(ctx, r.Bus, v.Position(), v.Marks()); {
	case errors.Is(err, bus.ErrLogReplaced):
		r.log.LogAttrs(ctx, slog.LevelWarn, "the view shows what the log does not hold", slog.Any("error", err))
		if err := errors.Join(v.Condemn(), v.Close()); err != nil {
			return nil, err
		}
		return view.Open(ctx, m, r.Bus.LogID(), o)
	case err != nil:
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"tidings/auth"
	"tidings/bus"
	"tidings/resource"
	"tidings/revoke"
	"tidings/schema"
)

// SetUp creates the log, the buckets and the queues of the service that are not
// there, and returns all as they are then. With edit it changes those that are
// there to what the settings say.
func (c Config) SetUp(ctx context.Context, edit bool, log *slog.Logger) (kept []bus.Kept, err error) {
	if c.NATSURL == "" {
		return nil, errors.New("TIDINGS_NATS_URL is not set: the embedded bus needs no setting up")
	}
	o := c.bus(roleAdmin, log)
	o.Edit = edit
	b, err := bus.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open the bus: %w", c.blame(err))
	}
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	r := &Rooms{config: c, role: Role{Edge: true, Writes: true}, log: log, Bus: b}
	if err := r.openBuckets(ctx); err != nil {
		return nil, err
	}
	if _, err := revoke.Open(ctx, b, new(auth.Revocations), revoke.Options{Age: c.RevokedAge, Logger: log}); err != nil {
		return nil, err
	}
	if _, err := r.openJobs(ctx); err != nil {
		return nil, err
	}
	if _, err := resource.OpenEraser(ctx, b, new(schema.Model), resource.EraserOptions{After: c.EraseAfter, Logger: log}); err != nil {
		return nil, err
	}
	if c.ViewSnapshots > 0 {
		if _, err := resource.EnsureSnapshots(ctx, b); err != nil {
			return nil, err
		}
	}
	return b.Kept(), nil
}

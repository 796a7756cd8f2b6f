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
	o := c.bus(RoleAdmin, log)
	o.Edit = edit
	b, err := bus.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open the bus: %w", c.blame(err))
	}
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	for _, open := range c.stores(RoleAdmin, b, log) {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	return b.Kept(), nil
}

// stores open what the service keeps on a bus beside the log: of an api what it uses.
func (c Config) stores(role string, b *bus.Bus, log *slog.Logger) []func(context.Context) error {
	r := &Rooms{config: c, role: Role{Edge: true, Writes: role != RoleAPI}, log: log, Bus: b}
	list := []func(context.Context) error{
		r.openBuckets,
		func(ctx context.Context) error {
			_, err := revoke.Open(ctx, b, new(auth.Revocations), revoke.Options{Age: c.RevokedAge, Logger: log})
			return err
		},
	}
	if !r.role.Writes {
		return list
	}
	list = append(list,
		func(ctx context.Context) error { _, err := r.openJobs(ctx); return err },
		func(ctx context.Context) error {
			_, err := resource.OpenEraser(ctx, b, new(schema.Model), resource.EraserOptions{After: c.EraseAfter, Logger: log})
			return err
		},
	)
	if c.ViewSnapshots > 0 && c.NATSURL != "" { // one process has no use for them
		list = append(list, func(ctx context.Context) error { _, err := resource.EnsureSnapshots(ctx, b); return err })
	}
	return list
}

// Missing says which buckets and queues are not on a bus that OpenLog has opened, or
// are kept in another way than the service can use, as far as the role needs them; it
// creates none.
func (c Config) Missing(ctx context.Context, role string, b *bus.Bus, log *slog.Logger) (list []error) {
	for _, open := range c.stores(role, b, log) {
		if err := open(ctx); err != nil {
			list = append(list, err)
		}
	}
	return list
}

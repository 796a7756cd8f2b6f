package bus

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
)

// Renew takes up files of Access that were replaced: when they hold something
// else than what the connections came with, it tries the new credentials on a
// connection of its own, and if the server takes them, has all others come back
// with them, which takes milliseconds. With an error, which names the file or
// the server's reason, those that stand go on as they are. Files are read at
// every reconnect anyhow: Renew is for those who do not want to wait for one.
// What was under way fails with UNAVAILABLE or ErrUnknownOutcome, as after any
// lost connection; what was acknowledged is in the log.
func (b *Bus) Renew(ctx context.Context) error {
	if b.server != nil {
		return b.server.guard.renew()
	}
	now, err := b.opts.Access.read()
	if err != nil {
		return fmt.Errorf("renew the credentials of the bus: %w", err)
	}
	var old []*link
	for _, l := range b.links.all() {
		if !l.nc.Load().IsClosed() && l.held.Load().sum != now.sum {
			old = append(old, l)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if err := b.try(ctx); err != nil {
		return fmt.Errorf("renew the credentials of the bus: %w", err)
	}
	for _, l := range old {
		_ = l.nc.Load().ForceReconnect() // fails on a closed one, which needs nothing
	}
	b.log.LogAttrs(ctx, slog.LevelInfo, "the bus connections come back with new credentials", slog.Int("connections", len(old)))
	return nil
}

// try makes a connection with what the files hold now, and closes it.
func (b *Bus) try(ctx context.Context) error {
	l := &link{bus: b, name: b.opts.Name + " trial"}
	opts, err := b.way(l)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(b.opts.URL, append(opts, nats.NoReconnect())...)
	if err != nil {
		return b.unreached(l, err)
	}
	defer nc.Close()
	l.nc.Store(nc)
	ctx, cancel := b.bound(ctx)
	defer cancel()
	return nc.FlushWithContext(ctx)
}

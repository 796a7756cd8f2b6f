package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"tidings/internal/proc"
)

// Start opens the rooms of a process, and its admin port before them, whose probes
// tell why it takes long. admin is nil where there is none, and otherwise for
// proc.Admin. Outside of development it waits for a bus that is not there
// yet, or was not set up. rooms is nil, without an error, when ctx ended meanwhile.
func Start(ctx context.Context, c Config, role Role, log *slog.Logger) (rooms *Rooms, admin net.Listener, err error) {
	if c.Admin != "" {
		if admin, err = proc.Listen(c.Admin); err != nil {
			return nil, nil, fmt.Errorf("%w; another address is chosen with --admin", err)
		}
	}
	starting := proc.NewStarting(log, admin)
	if !c.Dev {
		role.Waiting = starting.Waits
	}
	rooms, err = Open(ctx, c, role, log)
	starting.End()
	if err == nil {
		return rooms, admin, nil
	}
	if admin != nil {
		err = errors.Join(err, admin.Close())
	}
	if ctx.Err() != nil { // it was told to end
		return nil, nil, nil
	}
	return nil, nil, err
}

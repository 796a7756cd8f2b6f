package boot

import (
	"context"
	"fmt"
	"log/slog"

	"tidings/bus"
)

// MakeLog opens the log that the service has, or will have: it is created when
// it is absent. It takes no other clients. The caller closes the bus.
func (c Config) MakeLog(ctx context.Context, log *slog.Logger) (*bus.Bus, error) {
	o := c.bus(RoleAdmin, log)
	o.Listen = ""
	b, err := bus.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", c.blame(err))
	}
	return b, nil
}

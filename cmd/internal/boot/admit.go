package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"tidings/bus"
	"tidings/resource"
	"tidings/schema"
)

// admit refuses a schema that stored records do not fit. Every process looks;
// those that write also reserve the values of fields that became
// unique, and note that the records fit, so that the others need not look again.
func (r *Rooms) admit(ctx context.Context, m *schema.Model) error {
	err := resource.Admit(ctx, r.Bus, m, resource.AdmitOptions{Write: r.role.Writes, Flawed: r.config.Flawed, Logger: r.log})
	if errors.Is(err, resource.ErrFlawed) {
		return fmt.Errorf("%w\n`%s schema check --against-log` says the same without a start; mend the records under the old schema or change the new one (docs/schema.md, Changing a schema), or start all the same with --allow-flawed", err, r.config.program)
	}
	return err
}

// OpenLog opens the log that the service has, as an administrator, to look at it
// or to mend it: it creates nothing and takes no other clients. The caller closes the bus.
func (c Config) OpenLog(ctx context.Context, log *slog.Logger) (*bus.Bus, error) {
	return c.OpenLogAs(ctx, RoleAdmin, log)
}

// OpenLogAs is OpenLog for who comes in another role.
func (c Config) OpenLogAs(ctx context.Context, role string, log *slog.Logger) (*bus.Bus, error) {
	o := c.bus(role, log)
	o.Listen, o.Existing = "", true
	if o.Dir != "" {
		if _, err := os.Stat(o.Dir); err != nil {
			return nil, fmt.Errorf("there is no log: %w; name the service's data directory with --data, or its bus with TIDINGS_NATS_URL", err)
		}
	}
	b, err := bus.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", c.blame(err))
	}
	return b, nil
}

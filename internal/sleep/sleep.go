// Package sleep lets time pass, unless a context ends before.
package sleep

import (
	"context"
	"time"
)

// For returns nil when d has passed, and ctx's error as soon as ctx ends before.
// Where d is 0 or less, and ctx goes on, it returns at once.
func For(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package resource

import (
	"context"
	"fmt"

	"tidings/bus"
	"tidings/view"
)

// Recognize returns an error that wraps bus.ErrLogReplaced when the log is not
// the one that a view at position with these marks was built from: it ends before
// the position, or holds another message at a mark. So it is after a power cut, or
// with a backup, also when others have written to the log since. A mark whose
// message is gone from the log says nothing. Other errors: nobody can tell just now.
func Recognize(ctx context.Context, b *bus.Bus, position uint64, marks []view.Mark) error {
	_, last, err := b.State(ctx)
	if err != nil {
		return err
	}
	if last < position {
		return fmt.Errorf("%w: it ends at %d, before %d", bus.ErrLogReplaced, last, position)
	}
	for _, mark := range marks {
		m, err := b.At(ctx, mark.Seq)
		if err != nil {
			return err
		}
		if m != nil && !m.Time.Equal(mark.Time) {
			return fmt.Errorf("%w: it holds another message as %d", bus.ErrLogReplaced, mark.Seq)
		}
	}
	return nil
}

package resource

import (
	"context"
	"errors"
	"time"
)

// lookBack finds in the log what an event changed, when the view does not know
// it any more: this process lags far behind a view which it shares. What the log
// has trimmed is Lost.
func (f *Feed) lookBack(ctx context.Context, e *Event) {
	for {
		before, err := f.recordAt(ctx, f.bus.Subjects().Record(e.Type, e.ID), e.Prev)
		if err == nil || errors.Is(err, errGone) {
			e.Before, e.Lost = before, err != nil
			return
		}
		select { // the log is away: nothing new comes meanwhile either
		case <-time.After(lookAgain):
		case <-ctx.Done():
			e.Lost = true
			return
		}
	}
}

// lookAgain is how long after a failure the log is asked again.
const lookAgain = 200 * time.Millisecond

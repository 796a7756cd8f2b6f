package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidings/bus"
	"tidings/internal/sleep"
	"tidings/view"
)

// An empty view of a long log is not led through the log's whole history: it is
// built at once from the newest message of each record, and the feed goes on
// from there.

// Filler is a Sink that can be built at once, as view.View.Fill describes.
type Filler interface {
	Fill(ctx context.Context, upto uint64, source view.Source) error
}

// fillEmpty fills an empty view of a long log that ends at last: from a snapshot,
// or at once, if the view can do so. It returns from where the log is to be read,
// and where it ends.
func (f *Feed) fillEmpty(ctx context.Context, last uint64) (position, end uint64) {
	if v, able := f.view.(Restorer); able && f.snapshots != nil && f.snapshots.restore(ctx, v, last) {
		return f.view.Position(), last
	}
	if _, able := f.view.(Filler); !able || ctx.Err() != nil {
		return 0, last
	}
	for range fillAttempts {
		err := f.fill(ctx, last, last)
		if err == nil {
			return last, f.filled
		}
		if ctx.Err() != nil {
			break
		}
		f.log.LogAttrs(ctx, slog.LevelWarn, "the view cannot be built at once; it is tried again, and else led through all changes", slog.Any("error", err))
		if sleep.For(ctx, mendPause) != nil {
			break
		}
	}
	return 0, last
}

const (
	// fillAttempts is how often it is tried: being led through a long log takes
	// longer than all of them.
	fillAttempts = 3
	// fillLimit bounds one attempt. Until the first record comes the server looks
	// through all subjects, which takes seconds at millions of them.
	fillLimit = 30 * time.Minute
)

// lot is how many records the view gets at a time.
const lot = 500

// fill builds the view from the newest message of each record up to a sequence,
// and some of what comes meanwhile, as one that shows position. What follows
// after position is applied to it a second time as far as filled.
func (f *Feed) fill(ctx context.Context, position, upto uint64) error {
	ctx, cancel := context.WithTimeout(ctx, fillLimit)
	defer cancel()
	start, records := time.Now(), 0
	err := f.view.(Filler).Fill(ctx, position, func(add func([]view.Change) error) error {
		changes := make([]view.Change, 0, lot)
		flush := func() error {
			records += len(changes)
			err := add(changes)
			changes = changes[:0]
			return err
		}
		err := f.bus.Latest(ctx, f.bus.Subjects().EveryRecord(), upto, func(m bus.Message) error {
			e, ok, err := f.newest(ctx, m)
			if err != nil {
				return err
			}
			if ok && e.Kind != Deleted {
				changes = append(changes, e.change())
			}
			if len(changes) == lot {
				return flush()
			}
			return nil
		})
		if err != nil {
			return err
		}
		return flush()
	})
	if err != nil {
		return err
	}
	_, last, err := f.bus.State(ctx)
	if err != nil {
		return fmt.Errorf("read the log's state: %w", err)
	}
	f.mu.Lock()
	f.filled = max(last, upto)
	f.mu.Unlock()
	f.log.LogAttrs(ctx, slog.LevelInfo, "the view is built from the newest of each record",
		slog.Int("records", records), slog.Uint64("seq", position), slog.Duration("took", time.Since(start)))
	return nil
}

// recall says of events that the view had met when it was filled what they
// changed: the view does not know it, the log does unless it was trimmed.
func (f *Feed) recall(ctx context.Context, events []Event) error {
	for i := range events {
		e := &events[i]
		if e.Seq > f.filled {
			return nil
		}
		if e.Kind == Created {
			continue
		}
		var err error
		switch e.Before, err = f.recordAt(ctx, f.bus.Subjects().Record(e.Type, e.ID), e.Prev); {
		case errors.Is(err, errGone):
			e.Before, e.Lost = nil, true
		case err != nil:
			return err
		}
	}
	return nil
}

// recordAt returns the record as the message with the sequence left it, nil when
// it deleted it or for 0. It is errGone when the log does not hold that message.
func (f *Feed) recordAt(ctx context.Context, subject string, seq uint64) ([]byte, error) {
	if seq == 0 {
		return nil, nil
	}
	m, err := f.bus.At(ctx, seq)
	if err != nil {
		return nil, err
	}
	if m == nil || m.Subject != subject {
		return nil, errGone
	}
	e, ok := f.event(*m)
	switch {
	case !ok && m.Prev < seq: // malformed: what is before it counts
		return f.recordAt(ctx, subject, m.Prev)
	case !ok || e.Kind == Deleted:
		return nil, nil
	}
	return e.Raw, nil
}

package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidings/internal/sleep"
	"tidings/view"
)

// What befalls a view's file ends no process. A disk that is full, or away, is
// waited for; a file that is damaged is built anew from the log, beside the
// reads that still succeed. Meanwhile the process says that it is not ready, and
// why; the watchers are told everything all the same, only later.

// Mender is a Sink whose file may be found damaged at any time.
type Mender interface {
	Filler
	// Damaged holds a token when it was.
	Damaged() <-chan struct{}
}

// mendPause is the pause before what failed is tried again.
const mendPause = time.Second

// Whole returns nil while the view is whole, and else what is wrong with it: it
// is being built anew, or it shows older states until it has caught up again.
func (f *Feed) Whole() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trouble == nil && f.now < f.filled {
		return errors.New("the view is still catching up with the log")
	}
	return f.trouble
}

func (f *Feed) setTrouble(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = err
}

// applyChanges applies changes as view.View.Apply does, however often it takes.
func (f *Feed) applyChanges(ctx context.Context, upto uint64, changes []view.Change) error {
	for told := false; ; {
		err := f.view.Apply(ctx, upto, changes)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, view.ErrDamaged):
			if err := f.mend(ctx); err != nil {
				return err
			}
			continue
		case !errors.Is(err, view.ErrUnwritable):
			return fmt.Errorf("apply to the view: %w", err)
		}
		if !told {
			f.log.LogAttrs(ctx, slog.LevelError, "the view cannot take what the log has, trying again", slog.Uint64("seq", upto), slog.Any("error", err))
			told = true
		}
		if err := sleep.For(ctx, mendPause); err != nil {
			return err
		}
	}
}

// watchDamage mends the view whenever somebody has found its file damaged.
func (f *Feed) watchDamage(ctx context.Context) error {
	v, able := f.view.(Mender)
	if !able {
		return nil
	}
	for {
		select {
		case <-v.Damaged():
		case <-ctx.Done():
			return nil
		}
		if err := f.mendNow(ctx); err != nil {
			return err
		}
	}
}

// heed takes the token of damage that was found.
func (f *Feed) heed() {
	if v, able := f.view.(Mender); able {
		select {
		case <-v.Damaged():
		default:
		}
	}
}

func (f *Feed) mendNow(ctx context.Context) error {
	f.applying.Lock()
	defer f.applying.Unlock()
	return f.mend(ctx)
}

// mend builds the view anew as it is, until that succeeds. Nothing is applied
// meanwhile.
func (f *Feed) mend(ctx context.Context) error {
	f.setTrouble(errors.New("the view's file was damaged and is built anew"))
	defer f.setTrouble(nil)
	for {
		_, last, err := f.bus.State(ctx)
		if err == nil {
			f.log.LogAttrs(ctx, slog.LevelError, "the view's file is damaged and is built anew from the log", slog.Uint64("seq", last))
			err = f.fill(ctx, f.Now().Seq, last)
		}
		if err == nil {
			f.heed() // what was found before is mended
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.log.LogAttrs(ctx, slog.LevelError, "the view cannot be built anew, trying again", slog.Any("error", err))
		if err := sleep.For(ctx, mendPause); err != nil {
			return err
		}
	}
}

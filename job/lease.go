package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"tidings/bus"
	"tidings/fault"
)

// A worker may stand still with a part, lose its turn to another one, and go on. So
// whoever begins with a part writes a name of its own into the job's record, and
// again while it is at it, if the name still stands there. From each time on it has
// the part for three quarters of Options.Patience by its own clock; whoever writes
// another name waits for the whole of it before it believes a refusal. So clocks of
// two hosts are never compared, and what was refused is not carried out afterwards by
// who stood still.

// errTaken says that another worker has begun with the part.
var errTaken = fault.Wrap(bus.ErrStale, fault.Unavailable, "another worker has the turn")

// lease is the right to carry out a part.
type lease struct {
	turn
	jobs *Jobs
	by   string    // the name
	sent time.Time // before it was written
	// taken is when it stood there, and again says that another one had the part before.
	taken time.Time
	again bool
}

// newLease is the lease of who is about to write its name.
func (j *Jobs) newLease(t turn) *lease {
	return &lease{turn: t, jobs: j, by: rand.Text(), sent: time.Now()}
}

func (j *Jobs) patience() time.Duration { return cmp.Or(j.opts.Patience, 5*time.Second) }

// good is until when who has written its name at the time t has the part.
func (l *lease) good(t time.Time) time.Time { return t.Add(l.jobs.patience() * 3 / 4) }

// hold renews the lease until release is called. The context it returns ends, with
// errTaken, when another one has the part.
func (l *lease) hold(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, right := bus.WithLease(ctx, l.good(l.sent))
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(l.jobs.patience() / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			sent := time.Now()
			switch err := l.renew(ctx); {
			case errors.Is(err, errTaken):
				cancel(err)
			case err == nil:
				right.Renew(l.good(sent))
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-over
	}
}

// renew writes the name again. It is a write and not a read, since a server that was
// replaced as leader without knowing it may tell what was.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.jobs.patience())
	defer cancel()
	mine := false
	_, err := l.jobs.update(ctx, l.Job, func(r *record) bool {
		mine = r.By == l.by && r.Next == l.Part
		return mine
	})
	if err == nil && !mine {
		return errTaken
	}
	return err
}

// alone reports whether nobody can carry items out any more who had the part before.
func (l *lease) alone() bool { return !l.again || time.Since(l.taken) > l.jobs.patience() }

// awaitAlone waits until nobody can.
func (l *lease) awaitAlone(ctx context.Context) error {
	t := time.NewTimer(l.jobs.patience() - time.Since(l.taken))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

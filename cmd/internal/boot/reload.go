package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tidings/schema"
	"tidings/view"
)

// run runs the edition in service until ctx ends. After each reload that is the
// next one. It returns the error of a part that the process cannot do without.
func (r *Rooms) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	first := r.current()
	first.read(ctx, fail)
	first.write(ctx, fail)
	defer func() {
		last := r.current()
		last.writing.stop()
		last.reading.stop()
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-r.emptying():
			r.empty(ctx)
		case <-r.hangups:
			r.again(ctx)
			r.look = r.config.look()
			if !r.Drain.Wanted() { // another edition would take work
				r.reload(ctx, fail)
			}
		case <-look.C:
			if r.config.Dev && !r.Drain.Wanted() && r.changed() {
				r.reload(ctx, fail)
			}
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			r.Drain.Begin()
			if r.emptying() != nil {
				r.empty(ctx)
			}
			return nil
		}
	}
}

// reload puts what the schema directory holds now into service, or says why it
// cannot; then the old edition stays, and nobody notices.
func (r *Rooms) reload(ctx context.Context, fail func(error)) {
	start, old := time.Now(), r.current()
	next, err := r.prepare(ctx, old, fail)
	if err != nil {
		r.refused(ctx, err)
		return
	}
	old.writing.stop()
	r.replace(ctx, old, next)
	r.reloaded(ctx, old, next, time.Since(start))
	old.users.Wait()
	if err := r.discard(ctx, old, next); err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "what served the old schema cannot be closed", slog.Any("error", err))
	}
}

// prepare builds the next edition beside the old one and makes it run. When it
// returns, its view shows the log, and its worker takes work. A part of it that
// fails until then (there is no room for a second view, say) is a refusal like
// any other; later on it ends the process.
func (r *Rooms) prepare(ctx context.Context, old *Edition, fail func(error)) (*Edition, error) {
	m, err := r.config.LoadSchema()
	if err != nil {
		return nil, err
	}
	next, err := r.build(ctx, m, old)
	if err != nil {
		return nil, err
	}
	trial, end := context.WithCancelCause(ctx)
	defer end(nil)
	a := &alarm{tell: end}
	if err := r.settle(trial, next, a.ring); err != nil {
		return nil, errors.Join(err, r.discard(ctx, next, old))
	}
	a.hand(fail)
	return next, nil
}

// alarm tells that a part of an edition has failed: first who tries the edition,
// then who cannot do without it.
type alarm struct {
	mu   sync.Mutex
	tell func(error)
	err  error // the first
}

func (a *alarm) ring(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = cmp.Or(a.err, err)
	a.tell(err)
}

func (a *alarm) hand(tell func(error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tell = tell; a.err != nil {
		tell(a.err)
	}
}

func (r *Rooms) settle(ctx context.Context, next *Edition, fail func(error)) error {
	if err := r.admit(ctx, next.Model); err != nil {
		return err
	}
	next.read(ctx, fail)
	if err := caughtUp(ctx, next); err != nil {
		return err
	}
	if err := next.View.Sync(ctx); err != nil {
		return err
	}
	next.write(ctx, fail)
	return next.started(ctx)
}

// caughtUp returns when the edition's view has caught up. A start waits for room
// on the disk; a reload does not, since there is an edition that serves.
func caughtUp(ctx context.Context, next *Edition) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-next.Feed.Ready():
			return nil
		case <-look.C:
			if err := next.View.Ready(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lag is how long requests may wait for the next view to show what the old one
// has shown. As a rule that is milliseconds.
const lag = 5 * time.Second

// replace gives the next edition to clients. No query sees less than an event
// or an answer before it has told.
func (r *Rooms) replace(ctx context.Context, old, next *Edition) {
	between := func() {
		r.gate.Lock()
		defer r.gate.Unlock()
		if old.store != next.store {
			ctx, cancel := context.WithTimeout(ctx, lag)
			defer cancel()
			old.Feed.Succeed(next.Feed)
			if err := next.Client.WaitFor(ctx, old.Feed.Now().Seq); err != nil {
				r.log.LogAttrs(ctx, slog.LevelWarn, "the new view lags behind the old one", slog.Any("error", err))
			}
		}
		r.edition = next
		close(old.over)
	}
	if r.move == nil {
		between()
		return
	}
	r.move(next.Engine, between)
}

// discard ends an edition that is not, or no longer, in service, and deletes its
// view unless that is the other's, too.
func (r *Rooms) discard(ctx context.Context, e, other *Edition) error {
	e.writing.stop()
	e.Engine.Close()
	if e.store == other.store {
		return nil
	}
	e.reading.stop()
	err := e.View.Close()
	if e.dir != "" {
		err = errors.Join(err, view.Remove(context.WithoutCancel(ctx), e.dir))
	}
	return err
}

// maxTold is how many breaking changes the log names.
const maxTold = 5

func (r *Rooms) reloaded(ctx context.Context, old, next *Edition, took time.Duration) {
	changes := schema.Diff(old.Model.Contract, next.Model.Contract)
	count := map[schema.Class]int{}
	for _, c := range changes {
		count[c.Class]++
		if c.Class == schema.Breaking && count[c.Class] <= maxTold {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the schema that is reloaded breaks what clients may ask", slog.String("change", c.Message))
		}
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "the schema is reloaded", slog.Int("breaking", count[schema.Breaking]),
		slog.Int("dangerous", count[schema.Dangerous]), slog.Int("safe", count[schema.Safe]),
		slog.Bool("view_rebuilt", old.store != next.store), slog.Duration("took", took))
}

// refused tells why a schema is not taken up: for a person as at the start.
func (r *Rooms) refused(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the process ends
	}
	const message = "the schema is not reloaded; the one in service stays"
	if r.config.Dev && r.role.Terminal != nil {
		r.log.LogAttrs(ctx, slog.LevelError, message)
		fmt.Fprintln(r.role.Terminal, err)
		return
	}
	r.log.LogAttrs(ctx, slog.LevelError, message, slog.Any("error", err))
}

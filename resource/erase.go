package resource

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/proc"
	"tidings/internal/sleep"
	"tidings/schema"
)

// Nobody needs what a deleted record was, once those have read it who were away
// when it was deleted, and the law may forbid to keep it. So an eraser goes
// through the log, as far behind its end as the grace says. At a tombstone it
// purges what stands before it on its subject: the record's history. At a unique
// value that was given back it purges the whole subject, since a hash of an email
// address can be guessed. At a change of a type with @resource(history:) it
// purges what is beyond that. The tombstone itself, an id and an owner, stays.
//
// All workers of a service share one place in the log, so that nothing is
// forgotten whoever dies, and one of them at a time goes on from there. Should
// two do so, each purge is the same twice.

// EraserOptions tunes an eraser.
type EraserOptions struct {
	// After is for how long a deleted record's history is kept; zero keeps it.
	After time.Duration
	// Every is how often the log is looked at. Zero means a tenth of After, from
	// 1 s to 10 s.
	Every time.Duration
	// Now replaces the clock; nil means the time.
	Now func() time.Time
	// Metrics counts what is erased; nil: nothing does.
	Metrics *proc.Metrics
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Eraser removes from the log what deleted records were, and what a type's
// history does not keep. Each worker has one.
type Eraser struct {
	bus      *bus.Bus
	after    time.Duration
	every    time.Duration
	now      func() time.Time
	log      *slog.Logger
	erased   *proc.Counter
	progress shared
	// histories are the types that keep less than the log does.
	histories map[string]int64
	// idle: after that message of the log nothing is old enough before this time.
	idle struct {
		seq   uint64
		until time.Time
	}
}

// EraserBucket is where erasers share how far they have come.
const EraserBucket = "erased"

// OpenEraser opens what erasers share and returns one. Run makes it go.
func OpenEraser(ctx context.Context, b *bus.Bus, m *schema.Model, o EraserOptions) (*Eraser, error) {
	k, err := b.Bucket(ctx, bus.BucketOptions{Name: EraserBucket, Description: "How far the history of deleted records is erased.", MaxValue: 64 << 10})
	if err != nil {
		return nil, err
	}
	e := &Eraser{bus: b, after: o.After, every: o.Every, now: o.Now, log: o.Logger, histories: histories(m),
		erased: o.Metrics.Counter("tidings_erased_messages_total", "Messages of the log that were erased: what deleted records were, and history beyond @resource(history:).")}
	if e.every == 0 {
		e.every = min(max(o.After/10, time.Second), 10*time.Second)
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.progress = shared{bucket: k, log: b.LogID(), me: newID(), lease: 3 * e.every, now: e.now}
	return e, nil
}

// Run erases until ctx ends, and then returns nil. What fails is tried again.
func (e *Eraser) Run(ctx context.Context) error {
	if e.after == 0 && len(e.histories) == 0 {
		<-ctx.Done()
		return nil
	}
	said, at := "", time.Time{}
	for {
		err := e.Pass(ctx)
		if err != nil && ctx.Err() == nil && (err.Error() != said || time.Since(at) > 10*time.Minute) {
			said, at = err.Error(), time.Now()
			e.log.LogAttrs(ctx, slog.LevelError, "what deleted records were is not erased just now; it is tried again", slog.Any("error", remedy(err)))
		}
		if sleep.For(ctx, e.every) != nil {
			return nil
		}
	}
}

func remedy(err error) error {
	if errors.Is(err, bus.ErrPurgeDenied) {
		return errors.Join(err, errors.New("the stream was set to deny_purge: back it up and restore it without, or switch erasing off with --erase-after 0"))
	}
	return err
}

// Pass goes through the log once, as far as it is old enough. It does nothing
// while another eraser is at it.
func (e *Eraser) Pass(ctx context.Context) error {
	p, mine, err := e.progress.look(ctx)
	if err != nil || !mine {
		return err
	}
	_, last, err := e.bus.State(ctx)
	if err != nil {
		return err
	}
	p.fit(last, e.histories)
	if e.after > 0 {
		if err := e.erase(ctx, &p, last); err != nil {
			return err
		}
	}
	return e.trim(ctx, &p, last)
}

const (
	// maxScan is how many messages are looked at before the place is noted.
	maxScan = 20_000
	// maxPurges is how many subjects are purged before the place is noted.
	maxPurges = 500
)

// purge is what is to be removed: the messages of a subject before a sequence.
type purge struct {
	subject string
	before  uint64
}

// erase purges the history of what was deleted long enough ago.
func (e *Eraser) erase(ctx context.Context, p *progress, last uint64) error {
	for p.Erased < last && (e.idle.seq != p.Erased || !e.now().Before(e.idle.until)) {
		found, reached, err := e.collect(ctx, p.Erased, last)
		if err != nil {
			return err
		}
		if reached == p.Erased {
			return nil
		}
		if len(found) > 0 { // only one goes on from here
			if err := e.progress.save(ctx, p); err != nil {
				return err
			}
		}
		messages, err := e.purgeAll(ctx, found)
		if err != nil {
			return err
		}
		p.Erased = reached
		if err := e.progress.save(ctx, p); err != nil {
			return err
		}
		if messages > 0 {
			e.log.LogAttrs(ctx, slog.LevelInfo, "erased what deleted records were", slog.Int("messages", messages), slog.Uint64("seq", reached))
		}
	}
	return nil
}

var errEnough = errors.New("enough for one step")

// collect looks for what is to be purged after a place in the log, and returns
// the place up to which it has looked.
func (e *Eraser) collect(ctx context.Context, after, last uint64) (found []purge, reached uint64, err error) {
	ripe := e.now().Add(-e.after)
	reached = after
	scanned := 0
	_, err = e.bus.Read(ctx, e.bus.Subjects().Log(), after, last, func(m bus.Message) error {
		if m.Time.After(ripe) {
			e.idle.seq, e.idle.until = reached, m.Time.Add(e.after)
			return errEnough
		}
		if scanned == maxScan || len(found) == maxPurges {
			return errEnough
		}
		if p, ok := forget(e.bus.Subjects(), m); ok {
			found = append(found, p)
		}
		scanned++
		reached = m.Seq
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return found, reached, nil
	case err != nil:
		return nil, after, err
	}
	return found, last, nil
}

// forget says what a message makes needless: a tombstone what is before it, a
// value that was given back itself too, and so the end of references to a record.
func forget(s bus.Subjects, m bus.Message) (purge, bool) {
	if _, _, ok := s.ParseRecord(m.Subject); ok {
		e, sound, _ := ReadEvent(s, m) // what is malformed deletes nothing
		return purge{m.Subject, m.Seq}, sound && e.Kind == Deleted && m.Prev > 0
	}
	free := strings.HasPrefix(m.Subject, s.Uniques()) && string(m.Data) == released ||
		strings.HasPrefix(m.Subject, s.References()) && string(m.Data) == leftAlone
	return purge{m.Subject, m.Seq + 1}, free
}

// purgeAll purges, and returns how many messages that were. A subject that
// cannot be one of ours is said and left.
func (e *Eraser) purgeAll(ctx context.Context, list []purge) (messages int, err error) {
	for _, p := range list {
		n, err := e.bus.Purge(ctx, p.subject, p.before)
		if fault.Is(err, fault.BadUserInput) {
			e.log.LogAttrs(ctx, slog.LevelError, "a message of the log cannot be erased", slog.Uint64("seq", p.before), slog.Any("error", err))
			err = nil
		}
		if err != nil {
			return messages, err
		}
		messages += n
		e.erased.Add(n)
	}
	return messages, nil
}

package resource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/sleep"
)

// Where an atomic batch takes much longer than its messages (bus.BatchesWait), the
// unique value of a new record is reserved ahead, by a message of its own, and the
// record follows by itself. Between the two the value is reserved for a record
// that is not there: it is on its way, or its worker has died.
//
// Whoever wants the value meanwhile waits a moment for the record. When it does
// not come he takes its place: he appends a tombstone where it was to stand. The
// record expects what its worker has read there before the value was reserved, so
// of the two only one is stored. After the tombstone nobody but the one who reads
// it, and decides anew, can write that record, and the value is free.

const (
	// onTheWay bounds, doubled from a millisecond on, the pauses in which somebody
	// waits for a record whose value is reserved: twice as long in all.
	onTheWay = 16 * time.Millisecond
	// standInActor is the actor of a tombstone that takes the place of a record.
	standInActor = "worker"
)

// reservations returns what is to be stored in one batch with the record for its
// unique values. Nothing when its only one is reserved ahead.
func (c *carry) reservations(ctx context.Context, d Decision) ([]bus.Entry, error) {
	if c.w.ahead && !c.tried && d.Kind == Created && len(d.Take) == 1 {
		c.tried = true
		err := c.reserveAhead(ctx, d)
		if !errors.Is(err, bus.ErrConflict) { // otherwise it was taken once: one has to look
			return nil, err
		}
	}
	return c.w.reservations(ctx, c.cmd.Type, d)
}

// reserveAhead reserves the value of a new record, if nobody has had it yet. The
// error is bus.ErrConflict when somebody has.
func (c *carry) reserveAhead(ctx context.Context, d Decision) error {
	if err := bus.Stale(ctx); err != nil {
		return err
	}
	e := bus.Entry{Subject: c.w.bus.Subjects().Unique(c.cmd.Type, d.Take[0].Field, d.Take[0].Hash), Data: heldBy(d.ID)}
	at, err := c.w.note(ctx, e)
	if err == nil {
		c.claimed = bus.Entry{Subject: e.Subject, Data: []byte(released), After: at}
	}
	return err
}

// relent gives the value back that was reserved ahead, when it is certain that its
// record does not come. Should that fail, whoever wants the value takes it.
func (c *carry) relent(ctx context.Context, err error) {
	if err == nil || c.claimed.After == 0 || len(c.doubts) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenWait)
	defer cancel()
	_, _ = c.w.bus.Append(ctx, c.claimed) // see above
}

// keeper returns the holder of a value, which was reserved at a sequence, if its
// record has it, and otherwise nobody; then it never will, unless it takes the
// value anew. The error is bus.ErrConflict when the record came meanwhile.
func (w *Worker) keeper(ctx context.Context, typ, holder string, reserved uint64, u Unique) (string, error) {
	if holder == "" {
		return "", nil
	}
	for wait := time.Millisecond; ; wait *= 2 {
		m, err := w.holder(ctx, typ, holder, u)
		switch {
		case err != nil:
			return "", err
		case has(m, u):
			return holder, nil
		case !mayCome(m, reserved) || w.dry:
			return "", nil
		case wait > onTheWay:
			return "", w.standIn(ctx, typ, holder, m)
		}
		if err := sleep.For(ctx, wait); err != nil {
			return "", err
		}
	}
}

// mayCome reports whether a record for which a value was reserved at a sequence
// may be on its way, by its newest message: it comes after what its worker had
// read before.
func mayCome(last *bus.Message, reserved uint64) bool {
	current, _ := standing(last)
	return current == nil && (last == nil || last.Seq < reserved)
}

// standIn appends a tombstone where a record was to stand: that of the one before,
// if there was any. The error is bus.ErrConflict when the record was faster.
func (w *Worker) standIn(ctx context.Context, typ, id string, last *bus.Message) error {
	e := bus.Entry{
		Subject: w.bus.Subjects().Record(typ, id),
		Header:  bus.Header{headerKind: {string(Deleted)}, headerActor: {standInActor}, headerCommand: {w.newID()}},
		Data:    members{"id": quoted(id)}.raw(),
	}
	if last != nil {
		e.After = last.Seq
	}
	if _, tombstone := standing(last); tombstone != nil {
		e.Data = tombstone
	}
	_, err := w.note(ctx, e)
	return err
}

// neverWas reports whether a record's newest message is a tombstone that stands in
// its place, and there was none before.
func neverWas(last *bus.Message) bool {
	return last.Prev == 0 && last.Header.Get(headerKind) == string(Deleted) && last.Header.Get(headerActor) == standInActor
}

// note appends an entry of which it does no harm when it is stored although that
// is not known.
func (w *Worker) note(ctx context.Context, e bus.Entry) (uint64, error) {
	appending, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	at, err := w.bus.Append(appending, e)
	if errors.Is(err, bus.ErrUnknownOutcome) || err != nil && appending.Err() != nil && ctx.Err() == nil {
		err = fault.Wrap(fmt.Errorf("append to %s: %w", e.Subject, err), fault.Unavailable, "the log has too much to do")
	}
	return at, err
}

package resource

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/sleep"
)

const (
	// appendWait bounds one append. An answer that was lost on the way never
	// comes; asking the log what happened takes less.
	appendWait = 3 * time.Second
	// maxPause bounds the pause between two attempts.
	maxPause = 500 * time.Millisecond
)

// Carry carries out one command and returns after the log has acknowledged it.
// It tries until ctx ends (within 10 s when that has no deadline): decides anew
// when somebody wrote in between, waits when the log cannot be reached, and
// looks into the log when an answer was lost. Faults as Client.Submit.
func (w *Worker) Carry(ctx context.Context, cmd Command) (record Record, err error) {
	ctx, cancel := inTime(ctx)
	defer cancel()
	return w.carry(ctx, cmd)
}

// carry carries out one command; ctx ends before its caller ceases to wait.
func (w *Worker) carry(ctx context.Context, cmd Command) (record Record, err error) {
	done := w.work(cmd.Type, string(cmd.Verb), cmd.Once)
	defer func() { done(err) }()
	fresh, err := w.fresh(cmd)
	if err != nil {
		return Record{}, err
	}
	a, err := readInput(w.model, cmd)
	if err != nil {
		return Record{}, err
	}
	id, err := a.target(fresh)
	if err != nil {
		return Record{}, err
	}
	if a.refers() {
		return w.carryAlone(ctx, a, fresh, id)
	}
	c := carry{w: w, cmd: a, fresh: fresh, subject: w.bus.Subjects().Record(cmd.Type, id), unused: id == fresh && cmd.Once.first()}
	unlock, err := w.records.lock(ctx, c.subject)
	if err != nil {
		return Record{}, c.giveUp(id, heldUp(err, cmd.Once))
	}
	defer unlock()
	defer func() { c.relent(ctx, err) }()
	var lost error
	for attempt := 0; ; attempt++ {
		record, err := c.attempt(ctx)
		if errors.Is(err, bus.ErrStale) {
			return Record{}, c.giveUp(id, err)
		}
		if err == nil || !again(err) && !errors.Is(err, context.DeadlineExceeded) {
			return record, err
		}
		lost = worse(lost, err)
		w.log.LogAttrs(ctx, slog.LevelDebug, "try again", slog.String("type", cmd.Type), slog.String("id", id), slog.Any("error", err))
		if !pause(ctx, attempt) {
			return Record{}, c.giveUp(id, lost)
		}
	}
}

// fresh returns the id that a new record would have.
func (w *Worker) fresh(cmd Command) (string, error) {
	if cmd.Once == nil {
		return w.newID(), nil
	}
	return freshOnce(cmd.ID)
}

// inTime ends a little before the caller ceases to wait, so that the answer, which
// knows what has happened, comes before.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, inTimeFor(ctx))
}

func inTimeFor(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Now().Add(commandWait)
	}
	return deadline.Add(-min(time.Until(deadline)/10, answerTime))
}

// answerTime is what an answer may take on its way.
const answerTime = 250 * time.Millisecond

// heldUp says that time ran out behind other changes of the record in this process.
// Whether the command has happened elsewhere nobody has looked for.
func heldUp(err error, once *Once) error {
	if once != nil {
		return fault.Of(err)
	}
	return fmt.Errorf("%w: %w", bus.ErrConflict, err)
}

// elsewhere says that time ran out in races with others, of a command that may have
// been sent to another worker, too: that one may have won them, or win one yet.
func elsewhere(err error) error {
	return fault.Wrap(err, fault.Timeout, "too many change the record at once, and whether the change was made among them is not known")
}

// worse is what an attempt failed by, and where its time was over what the ones
// before it failed by.
func worse(before, err error) error {
	if before != nil && !again(err) {
		return before
	}
	return err
}

// again reports whether another attempt may come to a better end.
func again(err error) bool {
	if errors.Is(err, bus.ErrStale) {
		return false
	}
	return errors.Is(err, bus.ErrConflict) || errors.Is(err, bus.ErrUnknownOutcome) || errors.Is(err, errClosing) || fault.Is(err, fault.Unavailable)
}

// pause waits a while that grows, by chance, so that writers who met do not
// meet again. It reports false when ctx ended.
func pause(ctx context.Context, attempt int) bool {
	most := min(time.Millisecond<<min(attempt, 10), maxPause)
	return sleep.For(ctx, rand.N(most)) == nil
}

// giveUp says why time ran out. Whatever went wrong last, an append of which
// nobody knows may have been stored.
func (c *carry) giveUp(id string, err error) error {
	switch {
	case len(c.doubts) > 0:
		return fault.Wrap(err, fault.Timeout, "the log did not answer in time; the change may have happened")
	case c.cmd.Once != nil && (errors.Is(err, bus.ErrConflict) || errors.Is(err, errClosing)):
		return elsewhere(err)
	case errors.Is(err, bus.ErrConflict):
		return fault.Wrap(err, fault.Conflict, "%s %q is being changed by too many at once; try again", c.cmd.Type, id)
	}
	return err
}

// carry is one command on its way.
type carry struct {
	w       *Worker
	cmd     asked
	fresh   string
	subject string
	// unused: the id was made just now, so there is nothing to read under it.
	// Should there be something all the same, the log refuses the append.
	unused bool
	// doubts are the appends that got no answer, oldest first.
	doubts []doubt
	// tried: its value was to be reserved ahead; claimed is what gives it back.
	tried   bool
	claimed bus.Entry
}

// doubt is an append of which nobody knows whether it has happened.
type doubt struct {
	after  uint64 // the sequence that it expected
	answer []byte
}

// attempt decides on what the log says now. The error is bus.ErrConflict when
// somebody wrote meanwhile, and bus.ErrUnknownOutcome when the log did not say
// whether it has stored the change: the next attempt finds out.
func (c *carry) attempt(ctx context.Context) (Record, error) {
	last, err := c.last(ctx)
	if err != nil {
		return Record{}, err
	}
	if done, err := c.happened(ctx, last); err != nil || done.Seq > 0 {
		return done, err
	}
	current, tombstone := standing(last)
	after := uint64(0)
	if last != nil {
		after = last.Seq
	}
	d, err := c.cmd.decide(current, tombstone, c.w.now(), c.fresh)
	if err != nil {
		return Record{}, c.w.confirmed(ctx, c.cmd.Who, c.subject, after, err)
	}
	if err := c.w.giveWay(ctx, c.cmd.ID, c.cmd.r, d.ID, current, d.Raw); err != nil {
		return Record{}, err
	}
	entries, err := c.reservations(ctx, d)
	if err != nil {
		return Record{}, err
	}
	entries = append(entries, bus.Entry{
		Subject: c.subject,
		Header:  bus.Header{headerKind: {string(d.Kind)}, headerActor: {c.cmd.Who.Subject}, headerCommand: {c.cmd.ID}},
		Data:    d.Raw,
		After:   after,
	})
	if err := bus.Stale(ctx); err != nil { // what comes of it now nobody hears
		return Record{}, err
	}
	appending, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	seq, err := c.w.bus.Append(appending, entries...)
	switch {
	case errors.Is(err, bus.ErrUnknownOutcome):
		c.doubts = append(c.doubts, doubt{after: after, answer: d.Answer})
	case err != nil && appending.Err() != nil && ctx.Err() == nil: // it has not left, and there is time
		err = fault.Wrap(err, fault.Unavailable, "the log has too much to do")
	}
	if err != nil {
		return Record{}, err
	}
	return Record{Raw: d.Answer, Seq: seq}, nil
}

// last reads the record's newest message; nil when there is none.
func (c *carry) last(ctx context.Context) (*bus.Message, error) {
	if c.unused {
		c.unused = false // an attempt that fails may have been stored
		return nil, nil
	}
	return c.w.last(ctx, c.subject)
}

// happened looks for a change whose acknowledgement was lost: among the
// record's messages since, by the command's id. Others may have written after
// it. Seq is 0 when it is not there; if it still comes, the next append, which
// expects what it expected or more, fails, and it is found then. The fault is
// Conflict when the log no longer keeps all of them.
func (c *carry) happened(ctx context.Context, last *bus.Message) (done Record, err error) {
	if c.cmd.Once != nil {
		return c.once(ctx, last)
	}
	switch {
	case len(c.doubts) == 0 || last == nil || last.Seq <= c.doubts[0].after:
		return Record{}, nil
	case last.Header.Get(headerCommand) == c.cmd.ID:
		return c.outcome(*last), nil
	case last.Prev == c.doubts[0].after: // it is all that was written since
		return Record{}, nil
	}
	before, complete := c.doubts[0].after, false
	_, err = c.w.bus.Read(ctx, c.subject, before, last.Seq, func(m bus.Message) error {
		complete = complete || m.Prev <= before // the oldest that is kept
		if m.Header.Get(headerCommand) == c.cmd.ID {
			done = c.outcome(m)
		}
		return nil
	})
	switch {
	case err != nil:
		return Record{}, fmt.Errorf("look for %s in the log: %w", c.cmd.ID, err)
	case done.Seq == 0 && !complete:
		return Record{}, cannotTell(c.cmd.Type)
	}
	return done, nil
}

// cannotTell says that the log no longer keeps what a command may have done.
func cannotTell(typ string) error {
	return fault.New(fault.Conflict, "the %s has changed too often since to tell whether the change was made; read it", typ)
}

// outcome is the answer to a change that is found in the log: the record, for
// Delete as it was.
func (c *carry) outcome(m bus.Message) Record {
	if c.cmd.Verb != Delete {
		return Record{Raw: m.Data, Seq: m.Seq}
	}
	for _, d := range c.doubts {
		if d.after == m.Prev {
			return Record{Raw: d.answer, Seq: m.Seq}
		}
	}
	return Record{Raw: m.Data, Seq: m.Seq}
}

// recordLocks let the commands of one record follow one another in this
// process: writers who would only take turns in losing do not reach the log.
// Records share a lock by chance; that costs a wait and no more.
type recordLocks struct {
	seed  maphash.Seed
	locks []chan struct{}
}

func newRecordLocks() recordLocks {
	l := recordLocks{seed: maphash.MakeSeed(), locks: make([]chan struct{}, 1024)}
	for i := range l.locks {
		l.locks[i] = make(chan struct{}, 1)
	}
	return l
}

// lock takes the locks of all the subjects, always in one order: two who want
// the same ones do not wait for each other.
func (l recordLocks) lock(ctx context.Context, subjects ...string) (unlock func(), err error) {
	places := make([]int, len(subjects))
	for i, subject := range subjects {
		places[i] = int(maphash.String(l.seed, subject) % uint64(len(l.locks)))
	}
	slices.Sort(places)
	places = slices.Compact(places)
	for i, place := range places {
		select {
		case l.locks[place] <- struct{}{}:
		case <-ctx.Done():
			l.unlock(places[:i])
			return nil, ctx.Err()
		}
	}
	return func() { l.unlock(places) }, nil
}

func (l recordLocks) unlock(places []int) {
	for _, place := range places {
		<-l.locks[place]
	}
}

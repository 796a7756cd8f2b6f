package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
)

// A job goes on in turns. A turn is a task of the queue that names a part; whoever
// gets it does that part, puts the next turn at the queue's end, and only then
// gives the task up as done. So jobs take turns, however large they are, and a
// worker that dies leaves its turn to another.
//
// A task may come twice, so that two may be at a turn: whoever stood still with it,
// and whoever has got it since. A part has the same command id each time, and the
// Runner makes each of its changes once. Who has begun last has the lease (lease.go):
// the other one changes nothing more. What came of the items takes their place at the
// revision that they had then. The record goes on by the same rule.

// Work carries out jobs until ctx ends, as many at a time as Options.Concurrency
// says; then it returns nil, within the time of a part. Any number of processes
// may do so side by side.
func (j *Jobs) Work(ctx context.Context, run Runner) error {
	return j.queue.Work(ctx, j.opts.Concurrency, func(ctx context.Context, t bus.Task) error {
		return j.take(ctx, t, run)
	})
}

// errOver says that nothing is to be done.
var errOver = errors.New("the turn is over")

// take does one turn. An error brings it again.
func (j *Jobs) take(ctx context.Context, task bus.Task, run Runner) error {
	defer j.running.Rise()()
	t, err := decodeTurn(task.Data)
	if err != nil {
		j.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a turn of a job cannot be read, and is dropped", slog.String("task", task.ID), slog.Any("error", err))
		return nil
	}
	r, l, err := j.begin(ctx, t)
	switch {
	case errors.Is(err, errOver):
		return j.pass(ctx, t, r)
	case fault.Is(err, fault.NotFound): // it was forgotten
		return nil
	case err != nil:
		return err
	}
	done, failed, err := j.doPart(ctx, l, r, task.Tries, run)
	if err != nil {
		return err
	}
	r, err = j.change(ctx, t.Job, func(r *record) bool {
		if r.Next != t.Part {
			return false
		}
		r.Next, r.Begun, r.Since, r.By = r.Next+1, false, 0, ""
		r.Done, r.Failed = r.Done+done, r.Failed+failed
		if r.Next == r.Parts && r.End == "" { // and was not cancelled meanwhile
			r.End = Done
		}
		return true
	})
	if err != nil {
		return err
	}
	return j.pass(ctx, t, r)
}

// begin marks a part as begun, before its first item is carried out, and takes the
// lease. The error is errOver when another one is to be done, or none.
func (j *Jobs) begin(ctx context.Context, t turn) (r record, l *lease, err error) {
	_, last, err := j.bus.State(ctx)
	if err != nil {
		return r, nil, err
	}
	over := false
	l = j.newLease(t)
	r, err = j.change(ctx, t.Job, func(r *record) bool {
		over = r.End != "" || r.Next != t.Part
		if over {
			return false
		}
		if err := j.opts.Standing(r.Who); err != nil {
			r.End, r.Reason = Failed, fault.Of(err).Message
			return true
		}
		l.again = r.Begun && r.By != l.by
		if !r.Begun {
			r.Begun, r.Since = true, last
		}
		r.By = l.by
		return true
	})
	if err == nil && (over || r.End != "") {
		err = errOver
	}
	l.taken = time.Now()
	return r, l, err
}

// pass queues the turn that follows, if it is another one.
func (j *Jobs) pass(ctx context.Context, t turn, r record) error {
	if r.End != "" || r.Next == t.Part {
		return nil
	}
	return j.enqueue(ctx, turn{Job: t.Job, Part: r.Next})
}

// doPart carries out the items of a part and stores what came of them. It returns
// how many there are, and how many came to an error.
func (j *Jobs) doPart(ctx context.Context, l *lease, r record, tries int, run Runner) (done, failed int, err error) {
	ctx, release := l.hold(ctx)
	defer release()
	p, revision, err := j.items(ctx, l, tries)
	if err != nil {
		return 0, 0, err
	}
	if len(p.Outcomes) == 0 {
		work := Part{Kind: r.Kind, Document: r.Document, Command: partKey(l.Job, l.Part), Since: r.Since, Again: l.again, Inputs: make([]json.RawMessage, len(p.Items))}
		for i, item := range p.Items {
			work.Inputs[i] = item.Data
		}
		if p.Outcomes, err = j.settled(ctx, l, r.Who, work, run, tries >= maxTries); err != nil {
			return 0, 0, err
		}
		if p, err = j.keep(ctx, l.turn, p, revision, tries); err != nil {
			return 0, 0, err
		}
	}
	for _, o := range p.Outcomes {
		if o.Error != nil {
			failed++
		}
	}
	return len(p.Outcomes), failed, nil
}

// items reads a part. Who takes it over writes it anew: whoever had it before finds
// another revision then, and cannot say what came of it.
func (j *Jobs) items(ctx context.Context, l *lease, tries int) (part, uint64, error) {
	key := partKey(l.Job, l.Part)
	raw, revision, err := j.bucket.Get(ctx, key)
	if err != nil {
		return part{}, 0, err
	}
	if raw == nil {
		return part{}, 0, j.lost(ctx, l.turn)
	}
	p, err := decodePart(raw)
	if err != nil || !l.again || len(p.Outcomes) > 0 {
		return p, revision, err
	}
	renewed, err := j.bucket.Put(ctx, key, raw, revision)
	switch {
	case fault.Is(err, fault.Unavailable) && tries >= maxFull: // there is no room
		return p, revision, nil
	case err != nil:
		return p, 0, err
	}
	return p, renewed, nil
}

// settled carries out the items. A refusal counts only when nobody can carry the item
// out any more who had the part before: until then it waits, and asks again.
func (j *Jobs) settled(ctx context.Context, l *lease, who auth.Principal, p Part, run Runner, last bool) ([]Outcome, error) {
	alone := l.alone()
	outcomes, err := j.carryOut(ctx, who, p, run, last)
	refused := slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Error != nil })
	if err != nil || alone || !refused {
		return outcomes, err
	}
	if err := l.awaitAlone(ctx); err != nil {
		return nil, err
	}
	return j.carryOut(ctx, who, p, run, last)
}

// keep stores what came of a part in place of its items, and returns what is
// stored then: somebody else may have been faster. Where there is no room for the
// results it is told without them in the end.
func (j *Jobs) keep(ctx context.Context, t turn, p part, revision uint64, tries int) (part, error) {
	done := part{First: p.First, Outcomes: trimmed(p.Outcomes, p.Items)}
	key := partKey(t.Job, t.Part)
	_, err := j.bucket.Put(ctx, key, encode(done), revision)
	if fault.Is(err, fault.PayloadTooLarge) || fault.Is(err, fault.Unavailable) && tries >= maxFull {
		for i := range done.Outcomes {
			done.Outcomes[i].Result = nil
		}
		_, err = j.bucket.Put(ctx, key, encode(done), revision)
	}
	if errors.Is(err, bus.ErrConflict) {
		p, err := j.results(ctx, t.Job, t.Part)
		if errors.Is(err, errNoResults) {
			err = errTaken
		}
		return p, err
	}
	return done, err
}

// lost ends a job of which a part is gone.
func (j *Jobs) lost(ctx context.Context, t turn) error {
	_, err := j.change(ctx, t.Job, func(r *record) bool {
		if r.End != "" {
			return false
		}
		r.End, r.Reason = Failed, "its time was over before it was carried out: submit what is left again"
		return true
	})
	return errors.Join(err, fmt.Errorf("part %d of job %s is gone", t.Part, t.Job))
}

// carryOut carries out the items. The error says that they are to be tried again,
// that ctx has ended, or that the lease is over; the first it does not say when this
// is the last try.
func (j *Jobs) carryOut(ctx context.Context, who auth.Principal, p Part, run Runner, last bool) ([]Outcome, error) {
	outcomes, err := j.guarded(ctx, who, p, run)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := bus.Stale(ctx); err != nil {
		return nil, err
	}
	if err == nil && len(outcomes) != len(p.Inputs) {
		err = fmt.Errorf("%d items came to %d outcomes", len(p.Inputs), len(outcomes))
	}
	if err != nil && last {
		outcomes = slices.Repeat([]Outcome{{Error: fault.Of(err)}}, len(p.Inputs))
		return outcomes, nil
	}
	for _, o := range outcomes {
		if err == nil && !last && o.Error != nil && (o.Error.Code == fault.Unavailable || o.Error.Code == fault.Timeout) {
			err = o.Error
		}
	}
	return outcomes, err
}

// guarded makes an error of a panic.
func (j *Jobs) guarded(ctx context.Context, who auth.Principal, p Part, run Runner) (outcomes []Outcome, err error) {
	defer func() {
		if x := recover(); x != nil {
			j.opts.Logger.LogAttrs(ctx, slog.LevelError, "a part of a job panicked", slog.String("part", p.Command), slog.Any("panic", x), slog.String("stack", string(debug.Stack())))
			err = fault.New(fault.Internal, "internal error")
		}
	}()
	return run(ctx, who, p), nil
}

// trimmed gives the outcomes the references of their items, and leaves out the
// results that have no room.
func trimmed(outcomes []Outcome, items []Input) []Outcome {
	room := pageBytes
	for i := range outcomes {
		o := &outcomes[i]
		o.Ref = items[i].Ref
		if len(o.Result) > room && len(items) > 1 {
			o.Result = nil
		}
		room -= len(o.Result)
	}
	return outcomes
}

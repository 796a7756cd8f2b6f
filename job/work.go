package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
)

// A job goes on in turns. A turn is a task of the queue that names a part; whoever
// gets it does that part, puts the next turn at the queue's end, and only then
// gives the task up as done. So jobs take turns, however large they are, and a
// worker that dies leaves its turn to another.
//
// Nothing depends on there being one worker at a turn, since a task may come
// twice. The items of a part have the same command ids each time, and the Runner
// makes each change once. What came of them takes the place of the items at the
// revision that the items had, so that the first to store it wins. The record goes
// on by the same rule.

// Work carries out jobs until ctx ends, as many at a time as Options.Concurrency
// says; then it returns nil, within the time of an item. Any number of processes
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
	t, err := decodeTurn(task.Data)
	if err != nil {
		j.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a turn of a job cannot be read, and is dropped", slog.String("task", task.ID), slog.Any("error", err))
		return nil
	}
	r, again, err := j.begin(ctx, t)
	switch {
	case errors.Is(err, errOver):
		return j.pass(ctx, t, r)
	case fault.Is(err, fault.NotFound): // it was forgotten
		return nil
	case err != nil:
		return err
	}
	done, failed, err := j.doPart(ctx, t, r, again, task.Tries, run)
	if err != nil {
		return err
	}
	r, err = j.change(ctx, t.Job, func(r *record) bool {
		if r.Next != t.Part {
			return false
		}
		r.Next, r.Begun, r.Since = r.Next+1, false, 0
		r.Done, r.Failed = r.Done+done, r.Failed+failed
		if r.Next == r.Parts {
			r.End = Done
		}
		return true
	})
	if err != nil {
		return err
	}
	return j.pass(ctx, t, r)
}

// begin marks a part as begun, before its first item is carried out. The error is
// errOver when another one is to be done, or none.
func (j *Jobs) begin(ctx context.Context, t turn) (r record, again bool, err error) {
	_, last, err := j.bus.State(ctx)
	if err != nil {
		return r, false, err
	}
	over := false
	r, err = j.change(ctx, t.Job, func(r *record) bool {
		over, again = r.Next != t.Part, r.Begun
		if over {
			return false
		}
		if err := j.opts.Standing(r.Who); err != nil {
			r.End, r.Reason = Failed, fault.Of(err).Message
			return true
		}
		if r.Begun {
			return false
		}
		r.Begun, r.Since = true, last
		return true
	})
	if err == nil && (over || r.End != "") {
		err = errOver
	}
	return r, again, err
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
func (j *Jobs) doPart(ctx context.Context, t turn, r record, again bool, tries int, run Runner) (done, failed int, err error) {
	key := partKey(t.Job, t.Part)
	raw, revision, err := j.bucket.Get(ctx, key)
	if err != nil {
		return 0, 0, err
	}
	if raw == nil {
		return 0, 0, j.lost(ctx, t)
	}
	p, err := decodePart(raw)
	if err != nil {
		return 0, 0, err
	}
	if len(p.Outcomes) == 0 {
		w := carrying{run: run, log: j.opts.Logger, who: r.Who, last: tries >= maxTries,
			item: Item{Kind: r.Kind, Document: r.Document, Since: r.Since, Again: again}}
		if p.Outcomes, err = w.all(ctx, t.Job, p); err != nil {
			return 0, 0, err
		}
		p.Items = nil
		if _, err = j.bucket.Put(ctx, key, encode(p), revision); errors.Is(err, bus.ErrConflict) { // somebody else was faster
			p, err = j.results(ctx, t.Job, t.Part)
		}
	}
	for _, o := range p.Outcomes {
		if o.Error != nil {
			failed++
		}
	}
	return len(p.Outcomes), failed, err
}

// lost ends a job of which a part is gone.
func (j *Jobs) lost(ctx context.Context, t turn) error {
	_, err := j.change(ctx, t.Job, func(r *record) bool {
		r.End, r.Reason = Failed, "its time was over before it was carried out: submit what is left again"
		return true
	})
	return errors.Join(err, fmt.Errorf("part %d of job %s is gone", t.Part, t.Job))
}

// carrying is a part on its way.
type carrying struct {
	run  Runner
	log  *slog.Logger
	who  auth.Principal
	item Item
	last bool // what cannot be carried out now is not tried again
}

// all carries out the items, one after the other. The error says that one of them
// is to be tried again, or that ctx has ended.
func (c carrying) all(ctx context.Context, job string, p part) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(p.Items))
	room := pageBytes
	for i, input := range p.Items {
		item := c.item
		item.Input, item.Command = input.Data, partKey(job, p.First+i)
		o := c.guarded(ctx, item)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Error != nil && !c.last && (o.Error.Code == fault.Unavailable || o.Error.Code == fault.Timeout) {
			return nil, o.Error
		}
		o.Ref = input.Ref
		if len(o.Result) > room && len(p.Items) > 1 {
			o.Result = nil
		}
		room -= len(o.Result)
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// guarded makes a panic what came of the item: it would come again and again.
func (c carrying) guarded(ctx context.Context, item Item) (o Outcome) {
	defer func() {
		if p := recover(); p != nil {
			c.log.LogAttrs(ctx, slog.LevelError, "an item of a job panicked", slog.String("item", item.Command), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			o = Outcome{Error: fault.New(fault.Internal, "internal error")}
		}
	}()
	return c.run(ctx, c.who, item)
}

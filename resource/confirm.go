package resource

import (
	"context"
	"errors"

	"tidings/auth"
	"tidings/fault"
)

// confirmed returns a refusal that was decided on a subject's newest message, 0
// for none, once it is certain that this was the newest: what is refused is not
// appended, so that the log itself does not compare. Otherwise the fault is
// UNAVAILABLE, which lets the command decide anew.
func (w *Worker) confirmed(ctx context.Context, who auth.Principal, subject string, seq uint64, refusal error) error {
	switch fault.Of(refusal).Code {
	case fault.NotFound, fault.Conflict:
	case fault.Forbidden:
		if who.Anonymous() { // nothing becomes theirs
			return refusal
		}
	default:
		return refusal
	}
	if _, err := w.confirm(ctx, subject, seq); err != nil {
		return err
	}
	return refusal
}

func (w *Worker) confirm(ctx context.Context, subject string, seq uint64) (at uint64, err error) {
	if at, err = w.bus.Confirm(ctx, subject, seq); err != nil {
		err = fault.Wrap(err, fault.Unavailable, "the log does not say just now what is stored; nothing was changed")
	}
	return at, err
}

// confirmed does so for the change that is to blame.
func (b *bundle) confirmed(ctx context.Context, err error) error {
	item, ok := errors.AsType[*ItemError](err)
	if !ok || item.Index >= len(b.parts) {
		return err
	}
	p, seq := b.parts[item.Index], uint64(0)
	if p.last != nil {
		seq = p.last.Seq
	}
	return &ItemError{Index: item.Index, Cause: b.w.confirmed(ctx, b.tx.Who, p.subject, seq, item.Cause)}
}

// newest is a subject with the sequence of its newest message, 0 for none, as it
// was read.
type newest struct {
	subject string
	seq     uint64
}

func (p *part) newest() newest {
	if p.last == nil {
		return newest{p.subject, 0}
	}
	return newest{p.subject, p.last.Seq}
}

// certain returns a refusal, as Worker.confirmed does, that rests on several
// subjects and, if still is not nil, on what the view shows: that is asked again
// when the view shows what the log held when the subjects were confirmed.
func (c *closure) certain(ctx context.Context, refusal error, still func() (bool, error), on ...newest) error {
	var upto uint64
	for _, n := range on {
		at, err := c.w.confirm(ctx, n.subject, n.seq)
		if err != nil {
			return err
		}
		upto = max(upto, at)
	}
	if upto == 0 || still == nil {
		return refusal
	}
	if err := c.w.waitFor(ctx, upto); err != nil {
		return err
	}
	switch holds, err := still(); {
	case err != nil:
		return err
	case holds:
		return refusal
	}
	return fault.New(fault.Unavailable, "the worker did not know yet what refers to the record; nothing was changed")
}

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
	if err := w.bus.Confirm(ctx, subject, seq); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the log does not say just now what is stored; nothing was changed")
	}
	return refusal
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

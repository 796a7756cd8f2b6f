package graphql

import (
	"context"

	"tidings/fault"
)

// Reading shares records between the places that they are reached from; writing
// repeats them at each. A short document can therefore ask for an answer of any
// size, and it is bounded here, in bytes and in time.
const (
	// defaultAnswer is Options.MaxAnswer: ten times what the largest page needs.
	defaultAnswer = 16 << 20
	// maxEvent bounds the result of one event: twice the largest record.
	maxEvent = 2 << 20
	// checkTime is how many objects are written between two looks at the time.
	checkTime = 256
)

// budget is what a run may use. The zero value is one that is used up.
type budget struct {
	ctx     context.Context // of the run
	room    int             // bytes
	objects int             // written so far
	over    error           // why the run was broken off; nil while it goes on
}

// exhausted reports whether the run is to be broken off.
func (r *run) exhausted() bool {
	b := &r.budget
	if b.over != nil {
		return true
	}
	b.objects++
	switch {
	case len(r.buf) > b.room:
		b.over = fault.New(fault.PayloadTooLarge, "the answer is larger than %d bytes; ask for fewer records or fields", b.room)
	case b.objects%checkTime == 0 && b.ctx.Err() != nil:
		b.over = fault.Of(b.ctx.Err())
	}
	return b.over != nil
}

// settle replaces the answer of a run that was broken off by the reason: a part
// of it would look like the whole.
func (r *run) settle() {
	if r.budget.over == nil {
		return
	}
	r.buf = append(r.buf[:len(dataPrefix):len(dataPrefix)], "null"...)
	r.errs, r.over, r.path = nil, 0, r.path[:0]
	r.fail(nil, r.budget.over)
}

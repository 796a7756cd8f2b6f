package graphql

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/quota"
	"tidings/resource"
	"tidings/schema"
)

// Many asks for one mutation several times, each time with other variables. It
// is one request of its caller: counted once, its price is the sum (of what is
// Counted already, that of the dearest), its time that of one execution, and its
// idempotency key holds for all.
type Many struct {
	// Request has the document, of one root field that creates, updates or
	// deletes a record; its Variables are not used.
	Request
	// Variables has an object for each time.
	Variables []json.RawMessage
	// Together makes all of them happen, as one transaction, or none. Otherwise
	// each is carried out for itself: those of one record in their order, the
	// others side by side.
	Together bool
	// Width is how many are carried out at a time at most; zero means 64.
	Width int
}

// Answers are the answers to Many.
type Answers struct {
	// Refused says why nothing was carried out, where no item is to blame; nil
	// when the items tell.
	Refused *Response
	// Items are the bodies of the responses, in the order of the variables. Those
	// that ask for Together have either no errors at all, or Undone is true.
	Items []json.RawMessage
	// Undone: nothing was carried out, because of the items with an error. The
	// others are null.
	Undone bool
	// Replayed: these are the answers that the idempotency key got before.
	Replayed bool
}

// sideBySide bounds how many items of one request are carried out at a time.
const sideBySide = 64

// ExecuteMany carries out a mutation several times. It never fails: errors are
// in the answers.
func (e *Engine) ExecuteMany(ctx context.Context, who auth.Principal, m Many) Answers {
	counted := e.options.Quota
	if m.Counted {
		counted = nil
	}
	if err := counted.Request(ctx, who); err != nil {
		return Answers{Refused: e.limited(ctx, err)}
	}
	b := &many{engine: e, who: who, asked: m, ops: make([]*operation, len(m.Variables)), items: make([]json.RawMessage, len(m.Variables)), whole: make([]bool, len(m.Variables))}
	if refused := b.prepare(ctx, counted); refused != nil {
		return Answers{Refused: refused}
	}
	if m.IdempotencyKey != "" {
		return b.once(ctx)
	}
	if m.Sent != nil {
		b.claim = m.Sent.claim()
	}
	return b.run(ctx)
}

// many is one ExecuteMany.
type many struct {
	engine *Engine
	who    auth.Principal
	asked  Many
	ops    []*operation      // nil for those that are refused
	items  []json.RawMessage // the bodies, as far as they are known
	whole  []bool            // the items that came to no error
	claim  *claim            // nil without a key
	open   bool              // it is not known what became of an item
}

// prepare reads the items and finds the price of all; an item that cannot be
// read has its answer then.
func (b *many) prepare(ctx context.Context, counted *quota.Limiter) *Response {
	e, total := b.engine, 0
	for i, variables := range b.asked.Variables {
		r := b.asked.Request
		r.Variables, r.IdempotencyKey, r.Sent = variables, "", nil
		op, failed := e.prepare(ctx, r)
		if failed != nil {
			b.items[i] = failed.Body
			continue
		}
		if !op.single() {
			return e.refusal(ctx, fault.New(fault.BadRequest, "only an operation that creates, updates or deletes one record can be carried out many times"))
		}
		cost, err := e.price(op)
		if err != nil {
			return e.refusal(ctx, err)
		}
		if b.asked.Counted {
			total = max(total, cost)
		} else {
			total += cost
		}
		b.ops[i] = op
	}
	for _, op := range b.ops {
		if op == nil {
			continue
		}
		cost := Cost{Estimated: total, Max: e.options.Limits.Cost.budget(b.who)}
		if total > cost.Max {
			whole := *op
			whole.cost = cost
			if err := e.tooDear(ctx, b.who, &whole); err != nil {
				return e.failure(gqlerror.List{err})
			}
		}
		break
	}
	if err := counted.Spend(ctx, b.who, total); err != nil {
		return e.limited(ctx, err)
	}
	return nil
}

// single reports whether the operation is one change of one record.
func (op *operation) single() bool {
	if op.kind != ast.Mutation || len(op.plan.roots) != 1 {
		return false
	}
	g := op.plan.roots[0].generated
	return g != nil && verbs[g.Kind] != ""
}

var verbs = map[schema.RootKind]resource.Verb{schema.RootCreate: resource.Create, schema.RootUpdate: resource.Update, schema.RootDelete: resource.Delete}

// run carries out the items.
func (b *many) run(ctx context.Context) Answers {
	ctx, cancel := context.WithTimeout(ctx, b.engine.mutationTime())
	defer cancel()
	if b.asked.Together {
		return b.together(ctx)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, cmp.Or(b.asked.Width, sideBySide))
	var mu sync.Mutex
	for _, lane := range b.lanes() {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for _, i := range lane {
				open := b.one(ctx, i)
				mu.Lock()
				b.open = b.open || open
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return Answers{Items: b.items}
}

// one carries out an item, and reports whether it is unknown what became of it.
func (b *many) one(ctx context.Context, i int) (open bool) {
	op := b.ops[i]
	if c := b.claimOf(i); c != nil {
		op.claim = c
	}
	r := b.engine.execute(ctx, b.who, op)
	b.items[i], b.whole[i] = r.Body, r.Code == ""
	return op.claim != nil && op.claim.open || faulty(r.Code)
}

// claimOf is an item's part of the claim: its command has an id of its own.
func (b *many) claimOf(i int) *claim {
	all := b.claim
	if all == nil {
		return nil
	}
	return &claim{again: all.again, first: all.first,
		entry: entry{Command: resource.CommandID(all.entry.Command, i), Since: all.entry.Since}}
}

// lanes divides the items that can be carried out into runs: those of one record
// in their order, every other by itself.
func (b *many) lanes() (lanes [][]int) {
	by := map[string]int{}
	for i, op := range b.ops {
		if op == nil {
			continue
		}
		id := ""
		if change, err := b.change(op); err == nil {
			id, _ = resource.Target(b.engine.model, resource.Command{Type: change.Type, Verb: change.Verb, Input: change.Input, Who: b.who}, "")
		}
		lane, known := by[id]
		if id == "" || !known {
			by[id] = len(lanes)
			lanes = append(lanes, []int{i})
			continue
		}
		lanes[lane] = append(lanes[lane], i)
	}
	return lanes
}

// change is what an item asks for, if the caller may ask for it.
func (b *many) change(op *operation) (resource.Change, error) {
	f := op.plan.roots[0]
	args, err := b.engine.given(b.who, op, f)
	if err != nil {
		return resource.Change{}, err
	}
	return resource.Change{Type: f.generated.Resource.Name, Verb: verbs[f.generated.Kind], Input: inputOf(args)}, nil
}

// together carries out all items as one transaction.
func (b *many) together(ctx context.Context) Answers {
	e := b.engine
	t := resource.Transaction{Who: b.who, Changes: make([]resource.Change, len(b.ops))}
	undone := false
	for i, op := range b.ops {
		if op != nil {
			var err error
			if t.Changes[i], err = b.change(op); err == nil {
				continue
			}
			b.items[i] = e.refusal(ctx, err).Body
		}
		undone = true
	}
	if undone {
		return Answers{Items: b.items, Undone: true}
	}
	if len(t.Changes) == 0 {
		return Answers{Items: b.items}
	}
	if c := b.claim; c != nil {
		t.ID, t.Once = c.entry.Command, c.once()
	}
	records, err := e.data.Transact(ctx, t)
	if item, ok := errors.AsType[*resource.ItemError](err); ok {
		b.items[item.Index] = e.refusal(ctx, item.Cause).Body
		b.open = faulty(fault.Of(err).Code)
		return Answers{Items: b.items, Undone: true}
	}
	if err != nil {
		b.open = faulty(fault.Of(err).Code)
		return Answers{Refused: e.refusal(ctx, err)}
	}
	b.tell(context.WithoutCancel(ctx), records)
	return Answers{Items: b.items}
}

// aMoment is what an item gets to be written in when the time of all is over: it
// says at least that it was made.
const aMoment = 10 * time.Millisecond

// tell writes the answers of a transaction that has happened. They share the time
// of one execution: a view that does not show the records yet keeps all waiting.
func (b *many) tell(ctx context.Context, records []resource.Record) {
	deadline := time.Now().Add(b.engine.options.Timeout)
	for i, op := range b.ops {
		op.made = &records[i]
		ctx, cancel := context.WithTimeout(ctx, max(time.Until(deadline), aMoment))
		r := b.engine.execute(ctx, b.who, op)
		cancel()
		b.items[i], b.whole[i] = r.Body, r.Code == ""
		b.open = b.open || faulty(r.Code)
	}
}

// once carries the items out under their key, or answers with what they came to
// before.
func (b *many) once(ctx context.Context) Answers {
	e := b.engine
	if e.options.Answers == nil {
		return Answers{Refused: e.refusal(ctx, errNoAnswers)}
	}
	c, kept, err := e.claim(ctx, b.who, b.asked.IdempotencyKey, b.digest())
	switch {
	case err != nil:
		return Answers{Refused: e.refusal(ctx, err)}
	case kept != nil:
		return b.again(context.WithoutCancel(ctx), kept)
	}
	ctx = context.WithoutCancel(ctx) // as for one
	b.claim = c
	held, release := e.hold(ctx, c)
	answers := b.run(held)
	release()
	c.open = b.open
	e.conclude(ctx, c, Response{Body: b.kept(answers)})
	return answers
}

// digest is equal for requests that ask for the same by the same rights.
func (b *many) digest() string {
	hash := sha256.New()
	fmt.Fprintf(hash, "many\x00%s\x00%s\x00%d\x00%t\x00", b.asked.Query, b.asked.OperationName, b.who.Roles, b.asked.Together)
	for _, variables := range b.asked.Variables {
		sum := sha256.Sum256(variables)
		hash.Write(sum[:])
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil))
}

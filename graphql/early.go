package graphql

import (
	"context"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
)

// maxEarly is how many answers of functions one query waits for or keeps at a
// time: their times do not add up, and what is kept stays small.
const maxEarly = 16

// early calls the functions of a query's root fields side by side, ahead of the
// writing, which takes the answers in the fields' order. The rest is answered
// when its turn comes. It is used by the goroutine of its run.
type early struct {
	run     *run
	ctx     context.Context
	cancel  context.CancelFunc
	next    int // the first root field that was not looked at yet
	answers map[int]chan answer
	wg      sync.WaitGroup
}

// early must be stopped. Mutations are carried out one after the other.
func (r *run) early(ctx context.Context) *early {
	p := &early{run: r, ctx: ctx, cancel: func() {}, next: len(r.op.plan.roots)}
	if r.op.kind != ast.Query || p.next < 2 {
		return p
	}
	for _, f := range r.op.plan.roots {
		if f.function == nil {
			continue
		}
		r.request().id() // which is made here: the functions share it
		p.ctx, p.cancel = context.WithCancel(WithExchange(ctx, r.request()))
		p.next, p.answers = 0, make(map[int]chan answer, maxEarly)
		break
	}
	return p
}

// begin calls as many functions as may run.
func (p *early) begin() {
	roots := p.run.op.plan.roots
	for ; p.next < len(roots) && len(p.answers) < maxEarly; p.next++ {
		f := roots[p.next]
		if f.function == nil {
			continue
		}
		ready := make(chan answer, 1)
		p.answers[p.next] = ready
		p.wg.Go(func() { ready <- p.run.answer(p.ctx, f) })
	}
}

// take returns the answer of a root field, once, and in their order.
func (p *early) take(i int) answer {
	p.begin()
	ready := p.answers[i]
	if ready == nil {
		return p.run.answer(p.ctx, p.run.op.plan.roots[i])
	}
	a := <-ready
	delete(p.answers, i)
	return a
}

// stop waits for what still runs, which nobody wants any more.
func (p *early) stop() {
	p.cancel()
	p.wg.Wait()
}

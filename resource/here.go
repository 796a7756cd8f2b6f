package resource

import (
	"context"
	"time"

	"tidings/fault"
)

// A process that is a worker too carries out the commands of its own clients
// itself: the way over the bus and back would cost more than the decision. It
// does so with the same code and the same guards, so that nobody can tell the
// difference, and for as many at a time as WorkerOptions.Concurrency says; what
// comes on top goes over the bus, where other workers may be free.

// Use lets w carry out commands of this client. It is for a worker of the same
// process on the same bus, and is called before the first Submit. Once w has
// been ready it serves the client until the bus is closed, also when its Run has
// returned.
func (c *Client) Use(w *Worker) { c.here = w }

// carryHere carries out a command unless there is no free worker here.
func (c *Client) carryHere(ctx context.Context, cmd Command) (record Record, done bool, err error) {
	w := c.here
	if w == nil || !w.begin() {
		return Record{}, false, nil
	}
	defer w.end()
	if !validCommandID(cmd.ID) {
		return Record{}, true, errCommandID
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), inTimeFor(ctx)) // see untilDone
	defer cancel()
	record, err = w.carry(ctx, cmd)
	if err != nil {
		return Record{}, true, fault.Of(err)
	}
	return record, true, nil
}

// untilDone is a context that ends by its deadline alone: as over the bus, a
// caller who leaves does not stop what was begun.
func untilDone(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(commandWait)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}

// commandWait bounds a command whose context has no deadline.
const commandWait = 10 * time.Second

// begin takes a place among those that are carried out here; false when there
// is none, or when the worker does not take work.
func (w *Worker) begin() bool {
	select {
	case <-w.ready:
	default:
		return false
	}
	select {
	case w.here <- struct{}{}:
		return true
	default:
		return false
	}
}

func (w *Worker) end() { <-w.here }

package console

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"tidings/bus"
	"tidings/fault"
)

// obey takes the orders of consoles of other processes until ctx ends.
func (c *Console) obey(ctx context.Context) {
	desk := c.opts.Bus.NewDesk(func(ctx context.Context, m bus.Message) ([]byte, error) {
		o, err := decodeOrder(m.Data)
		if err != nil {
			return nil, err
		}
		return json.Marshal(obeyed{c.carryOut(ctx, o)})
	})
	shut, err := desk.Open(ctx, c.opts.Bus.Subjects().Order(c.id))
	if err != nil {
		c.missed(ctx, "takes no orders from other processes", err)
		return
	}
	defer shut()
	desk.Run(ctx)
}

// carryOut does what an operator wants, in this process. False: there is nothing
// to do it to.
func (c *Console) carryOut(ctx context.Context, o order) bool {
	what, done := "connection", false
	switch {
	case c.opts.Hub == nil:
	case o.Operation != nil:
		what, done = "operation", c.opts.Hub.EndOperation(o.Connection, *o.Operation)
	default:
		done = c.opts.Hub.EndConnection(o.Connection)
	}
	if done {
		c.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "an operator has ended the "+what, o.attrs()...)
	}
	return done
}

// attrs are for the log, of what somebody may have made up.
func (o order) attrs() []slog.Attr {
	list := []slog.Attr{slog.String("user", clip(o.By, maxName)), slog.String("conn_id", clip(o.Connection, maxName))}
	if o.Operation != nil {
		list = append(list, slog.String("op_id", clip(*o.Operation, maxName)))
	}
	return list
}

// orderTime is how long another process may take.
const orderTime = 5 * time.Second

var errNoProcess = fault.New(fault.NotFound, "this process does not answer (any more)")

// send carries an order out, here or in the process that it is for. Then both tell
// their logs: one that is in the log of the other alone came from no console.
func (c *Console) send(ctx context.Context, process string, o order) (bool, error) {
	if process == c.id {
		return c.carryOut(ctx, o), nil
	}
	if !isProcess(process) {
		return false, errNoProcess
	}
	data, err := json.Marshal(o)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	m, err := c.opts.Bus.Reach(ctx, c.opts.Bus.Subjects().Order(process), data)
	switch {
	case fault.Is(err, fault.NotFound):
		return false, errNoProcess
	case errors.Is(err, context.DeadlineExceeded):
		return false, fault.Wrap(err, fault.Timeout, "the process did not answer in time; what was wanted may have happened")
	case err != nil:
		return false, err
	}
	var got obeyed
	if err := json.Unmarshal(m.Data, &got); err != nil {
		return false, fault.Wrap(err, fault.Internal, "internal error")
	}
	if got.Done {
		c.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "an order of an operator was carried out by the process that it is for", o.attrs()...)
	}
	return got.Done, nil
}

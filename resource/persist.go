package resource

import (
	"context"
	"fmt"
	"time"

	"tidings/bus"
)

// A worker may die with the commands that it has taken, and for a moment there may
// be none. The caller of a mutation should not have to know: its command is sent
// again, under the same id, and as one that happens once. Whoever gets it looks in
// the log for what the dead one did.

// commandSilence is after how long a command is taken for lost with its worker. It
// is longer than a worker needs that has much to do; a command that is sent too
// early costs a look at its record.
const commandSilence = 3 * time.Second

// Persist makes the client send commands again that found no worker, or got no
// answer, as long as p says. It is called before the first Submit.
func (c *Client) Persist(p *bus.Patience) { c.patience = p }

// persist sends a command, or a transaction, to a worker. The caller has named it
// if its id is not one of ours, and says with once whether it may be sent again
// all the same.
func (c *Client) persist(ctx context.Context, subject string, named bool, once *Once, make func(*Once) any) (bus.Message, error) {
	p := c.patience
	switch {
	case once == nil && named: // its id may be that of another one
		p = nil
	case once == nil && p != nil:
		once = &Once{Since: c.feed.Now().Seq, First: true}
	}
	return c.bus.Persist(ctx, p, bus.Asked{Subject: subject, Silence: commandSilence, Make: func(again bool) (bus.Header, []byte, error) {
		if again {
			once = &Once{Since: once.Since}
		}
		body, err := encodeValue(make(once))
		if err != nil {
			err = fmt.Errorf("encode command: %w", err)
		}
		return nil, body, err
	}})
}

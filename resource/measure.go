package resource

import (
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/proc"
)

// verbs are what a command may do, as metrics call it: a transaction, which is the
// last of them, counts as one.
var verbs = []string{string(Create), string(Update), string(Delete), verbTransaction}

const verbTransaction = "transaction"

// outcomes are what may become of a command, as its client sees it.
var outcomes = []string{"ok", "refused", "timeout", "unavailable", "failed"}

// outcomeOf is what has become of a command that ended with err.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	switch fault.Of(err).Code {
	case fault.Timeout:
		return "timeout"
	case fault.Unavailable:
		return "unavailable"
	case fault.Internal:
		return "failed"
	}
	return "refused"
}

// Measure makes the client tell how long commands take. It is called before the
// first Submit.
func (c *Client) Measure(m *proc.Metrics) {
	c.waiting = bus.Waiting(m)
	c.took = m.Histogram("tidings_command_seconds", "From the sending of a command until its answer, with all repetitions: what of a mutation is not this process's own work.", "verb", "outcome").Closed(verbs, outcomes)
}

// sent notes that a command is under way; done is called with what became of it.
func (c *Client) sent(verb string) (done func(error)) {
	if c.took == nil {
		return func(error) {}
	}
	fall, began := c.waiting.Rise(), time.Now()
	return func(err error) {
		fall()
		c.took.Observe(time.Since(began), verb, outcomeOf(err))
	}
}

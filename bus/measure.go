package bus

import (
	"iter"
	"maps"

	"github.com/sony/gobreaker/v2"

	"tidings/internal/proc"
)

// Waiting counts who waits for a worker, whatever was sent to it.
func Waiting(m *proc.Metrics) *proc.Level {
	return m.Level("tidings_commands_waiting", "Commands and SOAP calls that were sent and are not answered: what there is to do for workers.")
}

// Reconnects is how many times the connection was lost and came back.
func (b *Bus) Reconnects() uint64 { return b.nc.Stats().Reconnects }

// Gaps is how often, in what came live of the log, messages were missing that
// were read from the stream then, and how many these were.
func (b *Bus) Gaps() (times, messages uint64) { return b.gaps.Load(), b.missed.Load() }

// MeasureAppends makes the bus tell how long appends take.
func (b *Bus) MeasureAppends(m *proc.Metrics) {
	b.appends.Store(m.Histogram("tidings_log_append_seconds", "From the sending of changes to the log until it had acknowledged them, the wait for others that leave in the same batch included.").Of())
}

// Breakers are the circuit breakers that there are by now, at most 1,001, and
// whether calls are held back there: the name is the beginning of the subjects
// that one guards.
func (b *Bus) Breakers() iter.Seq2[string, bool] {
	b.breakers.mu.Lock()
	defer b.breakers.mu.Unlock()
	open := make(map[string]bool, len(b.breakers.by))
	for name, one := range b.breakers.by {
		open[name] = one.State() != gobreaker.StateClosed
	}
	return maps.All(open)
}

// Repeated is how many requests were sent once more.
func (p *Patience) Repeated() uint64 { return p.repeated.Load() }

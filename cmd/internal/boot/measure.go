package boot

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"tidings/bus"
)

// measureWait bounds the question to the log that a scrape asks.
const measureWait = 2 * time.Second

// measure registers what the rooms know as numbers.
func (r *Rooms) measure() {
	r.MeasureReady(r.Ready)
	r.measureBus()
	r.measureView()
	r.expiries.measure(r.Metrics)
	if r.role.Edge {
		r.measureEdge()
	}
	log := lookedAt{&cached[bus.Usage]{ask: r.Bus.Usage}}
	m := r.Metrics
	r.Drain.Measure(m)
	m.Gauge("tidings_log_last_sequence", "Sequence of the newest message of the log; NaN while the log cannot be reached.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.Last) }) })
	m.Gauge("tidings_log_messages", "Messages that the log holds; NaN while the log cannot be reached.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.Messages) }) })
	m.Gauge("tidings_log_bytes", "Bytes of the log; NaN while the log cannot be reached.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.Bytes) }) })
	m.Gauge("tidings_log_max_bytes", "Bytes that the log may have; 0 without a limit.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.MaxBytes) }) })
	m.Gauge("tidings_log_has_leader", "1 while the log answers, 0 while it does not: it has no leader, or cannot be reached (tidings_bus_connected).", func() float64 {
		_, err := log.size.get()
		return oneIf(err == nil)
	})
	m.Gauge("tidings_log_replicas", "Servers that shall keep the log.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.Replicas) }) })
	m.Gauge("tidings_log_replicas_current", "Servers that have all of the log, its leader among them.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.Current) }) })
	m.Gauge("tidings_store_bytes", "Bytes of all streams of the NATS account, or of the embedded server.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.Stored) }) })
	m.Gauge("tidings_store_max_bytes", "Bytes that these may have; 0 when the server does not tell.", func() float64 { return log.at(func(s bus.Usage) float64 { return float64(s.MaxStored) }) })
	m.Gauge("tidings_view_position", "Sequence up to which this process's view shows the log.", func() float64 { return float64(r.current().Feed.Now().Seq) })
	m.Gauge("tidings_view_lag_messages", "Messages of the log that this process's view does not show yet; NaN while the log cannot be reached.", func() float64 {
		return log.at(func(s bus.Usage) float64 { return max(0, float64(s.Last)-float64(r.current().Feed.Now().Seq)) })
	})
}

// lookedAt is how large the log is: one question for all numbers of a scrape.
type lookedAt struct{ size *cached[bus.Usage] }

func (l lookedAt) at(number func(bus.Usage) float64) float64 {
	size, err := l.size.get()
	if err != nil {
		return math.NaN()
	}
	return number(size)
}

// cached is what the bus was asked for a moment ago: scrapes, however many, ask it
// once a second at the most, and wait for it for measureWait.
type cached[T any] struct {
	ask   func(context.Context) (T, error)
	every time.Duration // 0: a second

	mu    sync.Mutex
	when  time.Time
	value T
	err   error
}

func (c *cached[T]) get() (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.when) > cmp.Or(c.every, time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), measureWait)
		defer cancel()
		c.value, c.err = c.ask(ctx)
		c.when = time.Now()
	}
	return c.value, c.err
}

package realtime

import (
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"tidings/auth"
	"tidings/graphql"
	"tidings/internal/proc"
)

// transport is what carries a connection.
type transport uint8

const (
	overSocket transport = iota
	overStream
	transports
)

var transportNames = [transports]string{"websocket", "sse"}

// ending is why a connection has ended: the first that there was counts.
type ending uint8

const (
	byClient     ending = iota // it closed the connection, or went
	byDrain                    // the process lets its connections go
	byOverload                 // its caller has as many as there may be
	byExpiry                   // of its credentials
	byRevocation               // of its credentials
	bySlowness                 // its client did not read
	byIdleness                 // it did not answer
	byAge                      // Options.MaxAge
	byProtocol                 // it broke the rules, or did not say connection_init in time
	byError                    // the connection broke
	byRefusal                  // of the credentials in connection_init, or of new ones
	byEnd                      // of the one operation of a stream
	byOperator                 // who has asked for it
	endings
	unknown = endings // none is known yet
)

var endingNames = [endings]string{"client", "drain", "overload", "expired", "revoked", "slow", "idle", "age", "protocol", "error", "credentials", "done", "operator"}

// refusal is why a connection was not taken.
type refusal uint8

const (
	refusedDraining refusal = iota
	refusedStarting
	refusedFull
	refusedAddress     // Options.MaxPerAddress
	refusedCaller      // Options.MaxPerCaller
	refusedCredentials // in the header
	refusedMemory
	refusals
)

var refusalNames = [refusals]string{"draining", "starting", "full", "address", "caller", "credentials", "memory"}

// counters are what a hub counts. Each is one atomic operation where it happens;
// what they come to is read when somebody asks.
type counters struct {
	operations atomic.Int64
	overflowed atomic.Uint64
	latency    *proc.Timing
	tooMany    *proc.Tally // operations on one connection
	by         [transports]traffic
	refused    [refusals]atomic.Uint64
}

// traffic is what one transport carries.
type traffic struct {
	open              atomic.Int64
	opened, delivered atomic.Uint64
	closed            [endings]atomic.Uint64
}

// begin counts a connection that was taken.
func (t *traffic) begin() {
	t.open.Add(1)
	t.opened.Add(1)
}

// end counts one that has ended.
func (t *traffic) end(why ending) {
	t.open.Add(-1)
	t.closed[why].Add(1)
}

// measure registers what the hub counts.
func (h *Hub) measure(m *proc.Metrics) {
	c := &h.stats
	c.latency = m.Histogram("tidings_delivery_latency_seconds", "From when the log stored a change, by the clock of its server, until it was written to the socket of a subscriber. It is observed for one subscriber of each change that is told live, on each processor; not for those that catch up.").Of()
	c.tooMany = graphql.LimitsRefused(m).Of("operations")
	m.Read("tidings_connections", "Open connections.", func(tell func(float64, ...string)) {
		for i := range c.by {
			tell(float64(c.by[i].open.Load()), transportNames[i])
		}
	}, "transport")
	m.Gauge("tidings_connections_max", "Connections that this process takes (--max-connections); 0 without a bound.", func() float64 { return float64(h.opts.MaxConnections) })
	m.Read("tidings_connections_opened_total", "Connections that were taken.", func(tell func(float64, ...string)) {
		for i := range c.by {
			tell(float64(c.by[i].opened.Load()), transportNames[i])
		}
	}, "transport")
	m.Read("tidings_connections_closed_total", "Connections that have ended, by the first reason that there was.", func(tell func(float64, ...string)) {
		for i := range c.by {
			for j := range c.by[i].closed {
				tell(float64(c.by[i].closed[j].Load()), transportNames[i], endingNames[j])
			}
		}
	}, "transport", "reason")
	m.Read("tidings_connections_refused_total", "Connections that were not taken.", func(tell func(float64, ...string)) {
		for i := range c.refused {
			tell(float64(c.refused[i].Load()), refusalNames[i])
		}
	}, "reason")
	m.Read("tidings_operations_live", "Subscriptions under way. Divided by tidings_groups: how many share what is executed and encoded once.", func(tell func(float64, ...string)) {
		for i, n := range h.subs.count() {
			tell(float64(n), transportNames[i])
		}
	}, "transport")
	m.Read("tidings_deliveries_total", "Results that were queued for clients, those of queries and mutations on connections included.", func(tell func(float64, ...string)) {
		for i := range c.by {
			tell(float64(c.by[i].delivered.Load()), transportNames[i])
		}
	}, "transport")
	m.Read("tidings_slow_closes_total", "Connections that were ended because their client did not read as fast as there was something for it.", func(tell func(float64, ...string)) {
		tell(float64(c.overflowed.Load()))
	})
	h.measureQueues(m)
}

// measureQueues registers what waits. It is added up when somebody asks: that
// costs less than to keep the sum with each delivery.
func (h *Hub) measureQueues(m *proc.Metrics) {
	m.Gauge("tidings_queue_bytes", "Bytes that wait to be written, for all clients together.", func() float64 {
		sum := 0
		for _, c := range h.open() {
			sum += c.waiting()
		}
		return float64(sum)
	})
	m.Gauge("tidings_queue_largest_bytes", "Bytes that wait for the client for which most do.", func() float64 {
		most := 0
		for _, c := range h.open() {
			most = max(most, c.waiting())
		}
		return float64(most)
	})
	m.Gauge("tidings_queue_max_bytes", "Bytes that may wait for one client, beyond which it is cut off.", func() float64 { return float64(h.opts.MaxQueue) })
}

// late observes how late something was written that had happened then; zero: it
// is not known.
func (h *Hub) late(then int64) {
	if then != 0 {
		h.stats.latency.Observe(max(0, time.Since(time.Unix(0, then))))
	}
}

// drains reports whether the hub does.
func (h *Hub) drains() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}

// letGo is why a connection is let go now.
func (h *Hub) letGo() ending {
	if h.drains() {
		return byDrain
	}
	return byAge
}

// refused counts a connection that was not taken, and returns why.
func (h *Hub) refused(why refusal, err error) error {
	h.turnedAway(why)
	return err
}

// endOf is why credentials count no more.
func endOf(who auth.Principal) ending {
	if !who.Expires.IsZero() && !time.Now().Before(who.Expires) {
		return byExpiry
	}
	return byRevocation
}

// endingOf is why a socket is closed with a code, where nothing more is known.
func endingOf(code int) ending {
	switch code {
	case closeOverload:
		return byOverload
	case closeForbidden:
		return byRefusal
	case websocket.CloseNormalClosure:
		return byClient
	}
	return byProtocol
}

package boot

import "math"

// MeasureReady makes the metrics say whether the process is ready, as /readyz
// does by the same function.
func (r *Rooms) MeasureReady(ready func() error) {
	r.Metrics.Gauge("tidings_ready", "1 while the process takes work, as /readyz says.", func() float64 { return oneIf(ready() == nil) })
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// measureBus registers how the connection to the bus does.
func (r *Rooms) measureBus() {
	m := r.Metrics
	m.Gauge("tidings_bus_connected", "1 while the process is connected to NATS.", func() float64 { return oneIf(r.Bus.Ready() == nil) })
	m.Gauge("tidings_bus_disconnected_seconds", "For how long the process has not been connected to NATS, as far as probes and scrapes have seen; 0 while it is.", func() float64 {
		away, _ := r.busAway()
		return away.Seconds()
	})
	m.Read("tidings_bus_reconnects_total", "Times that the connection to NATS was lost and came back.", func(tell func(float64, ...string)) {
		tell(float64(r.Bus.Reconnects()))
	})
	m.Read("tidings_bus_gaps_total", "Times that messages of the log were missing in what came live, and were read from it.", func(tell func(float64, ...string)) {
		times, _ := r.Bus.Gaps()
		tell(float64(times))
	})
	m.Read("tidings_bus_gap_messages_total", "Messages of the log that were missing in what came live, and were read from it.", func(tell func(float64, ...string)) {
		_, messages := r.Bus.Gaps()
		tell(float64(messages))
	})
	if r.role.Writes {
		r.Bus.MeasureAppends(m)
		jobs := &cached[int64]{ask: r.jobs.Queued}
		m.Gauge("tidings_jobs_queued", "Parts of jobs that wait or are under way, in all processes; NaN while the bus cannot be asked.", func() float64 {
			n, err := jobs.get()
			if err != nil {
				return math.NaN()
			}
			return float64(n)
		})
	}
	m.Read("tidings_breaker_open", "1 while calls to a service are not sent, since it has not answered for a while; by the beginning of its subjects, once there was a call.", func(tell func(float64, ...string)) {
		for call, open := range r.Bus.Breakers() {
			tell(oneIf(open), call)
		}
	}, "call")
	m.Read("tidings_command_retries_total", "Commands and SOAP calls that were sent once more, since nobody took or answered them.", func(tell func(float64, ...string)) {
		tell(float64(r.patience.Repeated()))
	})
}

// measureEdge registers what the engine of a process with clients has.
func (r *Rooms) measureEdge() {
	r.Metrics.Gauge("tidings_groups", "Groups of equal subscriptions, each of which is executed and encoded once.", func() float64 {
		return float64(r.current().Engine.Stats().Groups)
	})
}

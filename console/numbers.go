package console

import (
	"maps"
	"math"
	"slices"

	"tidings/internal/proc"
)

// number is one that a process tells, made of a metric: the sum of all of its
// series that have one of the values for a label.
type number struct {
	name, metric string
	label        string // empty: all series
	values       []string
	rate         bool // told of what it grew by, a second
}

// numbers are those of a process in the contract, and those of the log.
var numbers = []number{
	{name: "sockets", metric: "tidings_connections", label: "transport", values: []string{"websocket"}},
	{name: "streams", metric: "tidings_connections", label: "transport", values: []string{"sse"}},
	{name: "operations", metric: "tidings_operations_live"},
	{name: "groups", metric: "tidings_groups"},
	{name: "deliveries", metric: "tidings_deliveries_total", rate: true},
	{name: "executions", metric: "tidings_executions_total", rate: true},
	{name: "commands", metric: "tidings_commands_total", rate: true},
	{name: "requests", metric: "tidings_operations_total", label: "type", values: []string{"query", "mutation"}, rate: true},
	{name: "opened", metric: "tidings_connections_opened_total", rate: true},
	{name: "queue", metric: "tidings_queue_bytes"},
	{name: "queueLargest", metric: "tidings_queue_largest_bytes"},
	{name: "slowCloses", metric: "tidings_slow_closes_total"},
	{name: "refused", metric: "tidings_connections_refused_total"},
	{name: "resumed", metric: "tidings_resumes_total", label: "outcome", values: []string{"continued", "replayed", "snapshot"}},
	{name: "notResumed", metric: "tidings_resumes_total", label: "outcome", values: []string{"expired", "refused", "failed"}},
	{name: "viewPosition", metric: "tidings_view_position"},
	{name: "viewLag", metric: "tidings_view_lag_messages"},
	{name: "busReconnects", metric: "tidings_bus_reconnects_total"},
}

var logNumbers = []number{
	{name: "last", metric: "tidings_log_last_sequence"},
	{name: "messages", metric: "tidings_log_messages"},
	{name: "bytes", metric: "tidings_log_bytes"},
	{name: "maxBytes", metric: "tidings_log_max_bytes"},
	{name: "leader", metric: "tidings_log_has_leader"},
	{name: "replicas", metric: "tidings_log_replicas"},
	{name: "current", metric: "tidings_log_replicas_current"},
	{name: "storeBytes", metric: "tidings_store_bytes"},
	{name: "storeMaxBytes", metric: "tidings_store_max_bytes"},
}

// figures are the series of a process, by metric.
type figures map[string][]proc.Figure

// pick reads the numbers; what is not known, or is no number, is left out.
func (f figures) pick(wanted []number) map[string]float64 {
	picked := map[string]float64{}
	for _, n := range wanted {
		list, there := f[n.metric]
		if !there {
			continue
		}
		sum := 0.0
		for _, series := range list {
			if n.label == "" || slices.Contains(n.values, series.Labels[n.label]) {
				sum += series.Value
			}
		}
		if !math.IsNaN(sum) && !math.IsInf(sum, 0) {
			picked[n.name] = sum
		}
	}
	return picked
}

// open are the circuit breakers that are.
func (f figures) open() []string {
	open := []string{}
	for _, series := range f["tidings_breaker_open"] {
		if series.Value == 1 {
			open = append(open, series.Labels["call"])
		}
	}
	slices.Sort(open)
	return open
}

func (f figures) is(metric string) bool {
	return len(f[metric]) == 1 && f[metric][0].Value == 1
}

// late is how late changes were told: how many up to each bound, in seconds. The
// last has the greatest number for one, since JSON has none that is greater.
func (f figures) late() []proc.Bucket {
	list := f["tidings_delivery_latency_seconds"]
	if len(list) != 1 || len(list[0].Buckets) == 0 {
		return nil
	}
	buckets := slices.Clone(list[0].Buckets)
	buckets[len(buckets)-1].Upto = math.MaxFloat64
	return buckets
}

// grown are the numbers of a process now: of what only grows what it grew by, a
// second, since the look before; nothing where there was none.
func grown(now, before map[string]float64, seconds float64) map[string]float64 {
	out := maps.Clone(now)
	for _, n := range numbers {
		if !n.rate {
			continue
		}
		delete(out, n.name)
		was, known := before[n.name]
		if is, there := now[n.name]; there && known && seconds >= minElapsed.Seconds() {
			out[n.name] = max(0, (is-was)/seconds)
		}
	}
	return out
}

// latency is how late changes were between two looks.
type latency struct {
	Median   float64 `json:"median"`
	High     float64 `json:"high"`
	Observed float64 `json:"observed"`
}

// since are the counts of the buckets since the look before.
func since(now, before []proc.Bucket) []proc.Bucket {
	if len(before) != len(now) {
		return nil
	}
	grown := slices.Clone(now)
	for i := range grown {
		if grown[i].Upto != before[i].Upto || grown[i].Count < before[i].Count {
			return nil
		}
		grown[i].Count -= before[i].Count
	}
	return grown
}

// together adds the counts of two processes up.
func together(a, b []proc.Bucket) []proc.Bucket {
	switch {
	case a == nil:
		return slices.Clone(b)
	case len(a) != len(b):
		return a
	}
	for i := range a {
		a[i].Count += b[i].Count
	}
	return a
}

// latencyOf is nil where nothing was observed.
func latencyOf(buckets []proc.Bucket) *latency {
	if len(buckets) == 0 || buckets[len(buckets)-1].Count == 0 {
		return nil
	}
	all := float64(buckets[len(buckets)-1].Count)
	return &latency{Median: quantile(buckets, all/2), High: quantile(buckets, all*.99), Observed: all}
}

// quantile is the time that so many were not later than, read between the bounds
// of the bucket in which that lies.
func quantile(buckets []proc.Bucket, rank float64) float64 {
	lower, below := 0.0, 0.0
	for _, b := range buckets {
		if upto := float64(b.Count); upto >= rank && upto > below {
			if b.Upto == math.MaxFloat64 {
				return lower
			}
			return lower + (b.Upto-lower)*(rank-below)/(upto-below)
		}
		lower, below = b.Upto, float64(b.Count)
	}
	return lower
}

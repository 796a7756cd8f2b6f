package proc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the numbers of a process, for who scrapes its admin port. Rooms
// register theirs without knowing of any library; nil counts nothing, and what it
// returns counts nothing either. All methods may run concurrently.
//
// Names begin with tidings_ and end with the unit: _total for what only grows,
// otherwise _bytes, _seconds, or what is counted. To register a name again gives
// what is there: an edition of the schema that follows another goes on counting.
type Metrics struct {
	registry *prometheus.Registry

	mu       sync.Mutex
	known    []Metric
	counters map[string]*Counter
	gauges   map[string]*atomic.Pointer[func() float64]
}

// Metric describes one.
type Metric struct {
	Name, Help string
	Labels     []string
}

// NewMetrics returns those of this process: what Go and the operating system tell
// of it (go_… and process_…), and which build it is.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), counters: map[string]*Counter{}, gauges: map[string]*atomic.Pointer[func() float64]{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	b := ThisBuild()
	m.describe("tidings_build_info", "1, with the build in its labels.", []string{"version", "revision", "go"})
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tidings_build_info", Help: "1, with the build in its labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "go": b.Go},
	})
	info.Set(1)
	m.registry.MustRegister(info)
	return m
}

// maxSeries is how many different labels a counter tells apart. What comes beyond
// counts under the label "other": labels come from the outside now and then.
const maxSeries = 500

// Counter is a number that only grows, or one for each value of its labels.
type Counter struct {
	vec    *prometheus.CounterVec
	labels int

	mu     sync.Mutex
	series map[string]struct{}
}

// Counter returns the counter of that name, which ends with _total.
func (m *Metrics) Counter(name, help string, labels ...string) *Counter {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.counters[name]; c != nil {
		return c
	}
	mustBeNamed(name, strings.HasSuffix(name, "_total"))
	c := &Counter{
		vec:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels),
		labels: len(labels), series: map[string]struct{}{},
	}
	m.registry.MustRegister(c.vec)
	m.counters[name] = c
	m.describe(name, help, labels)
	return c
}

// Add counts n more, under one value for each label.
func (c *Counter) Add(n int, values ...string) {
	if c == nil || n == 0 {
		return
	}
	c.vec.WithLabelValues(c.bounded(values)...).Add(float64(n))
}

// bounded are the labels, or "other" for each of them when there are too many.
func (c *Counter) bounded(values []string) []string {
	if len(values) == 0 {
		return values
	}
	key := strings.Join(values, "\x00")
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.series[key]; known {
		return values
	}
	if len(c.series) == maxSeries {
		return slices.Repeat([]string{"other"}, c.labels)
	}
	c.series[key] = struct{}{}
	return values
}

// Gauge has a number read at each scrape; the function may run concurrently and
// must be quick. It takes the place of one that was registered under the name.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.gauges[name]; g != nil {
		g.Store(&value)
		return
	}
	mustBeNamed(name, !strings.HasSuffix(name, "_total"))
	g := new(atomic.Pointer[func() float64])
	g.Store(&value)
	m.gauges[name] = g
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return (*g.Load())() }))
	m.describe(name, help, nil)
}

var metricName = regexp.MustCompile(`^tidings_[a-z][a-z_]*[a-z]$`)

// mustBeNamed panics on a name that no test would let through.
func mustBeNamed(name string, fits bool) {
	if !fits || !metricName.MatchString(name) {
		panic(fmt.Sprintf("the metric %q is not named as internal/proc says", name))
	}
}

func (m *Metrics) describe(name, help string, labels []string) {
	m.known = append(m.known, Metric{Name: name, Help: help, Labels: labels})
}

// Known lists the metrics of our own, by name.
func (m *Metrics) Known() []Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.known)
	slices.SortFunc(list, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Route serves GET /metrics in the text formats of Prometheus and OpenMetrics, to
// whoever reaches the admin port.
func (m *Metrics) Route() Route {
	return Route{Pattern: "GET /metrics", Open: true, Handler: promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry: m.registry, EnableOpenMetrics: true, MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError,
	})}
}

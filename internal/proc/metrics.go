package proc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

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
//
// Who registers a metric whose labels have a closed set of values says so by
// Closed: all of its series are there from the first scrape on, with 0, so that
// rates and alerts work before anything has happened. The values of other labels
// are bounded.
type Metrics struct {
	registry *prometheus.Registry
	own      *prometheus.Registry // without what Go and the system tell

	mu         sync.Mutex
	known      []Metric
	counters   map[string]*Counter
	histograms map[string]*Histogram
	levels     map[string]*Level
	readings   map[string]*reading
}

// Metric describes one.
type Metric struct {
	Name, Help string
	Kind       string // counter, gauge or histogram
	Labels     []string
}

// NewMetrics returns those of this process: what Go and the operating system tell
// of it (go_… and process_…), and which build it is.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), own: prometheus.NewRegistry(), counters: map[string]*Counter{}, histograms: map[string]*Histogram{}, levels: map[string]*Level{}, readings: map[string]*reading{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	b := ThisBuild()
	m.describe("tidings_build_info", "gauge", "1, with the build in its labels.", []string{"version", "revision", "go"})
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tidings_build_info", Help: "1, with the build in its labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "go": b.Go},
	})
	info.Set(1)
	m.register(info)
	return m
}

var metricName = regexp.MustCompile(`^tidings_[a-z][a-z_]*[a-z]$`)

// mustBeNamed panics on a name that no test would let through.
func mustBeNamed(name string, fits bool) {
	if !fits || !metricName.MatchString(name) {
		panic(fmt.Sprintf("the metric %q is not named as internal/proc says", name))
	}
}

func (m *Metrics) register(c prometheus.Collector) {
	m.registry.MustRegister(c)
	m.own.MustRegister(c)
}

func (m *Metrics) describe(name, kind, help string, labels []string) {
	m.known = append(m.known, Metric{Name: name, Help: help, Kind: kind, Labels: labels})
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

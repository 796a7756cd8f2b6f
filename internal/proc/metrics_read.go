package proc

import (
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Gauge has a number read at each scrape; the function may run concurrently and
// must be quick. It takes the place of one that was registered under the name.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	mustBeNamed(name, !strings.HasSuffix(name, "_total"))
	m.Read(name, help, func(tell func(float64, ...string)) { tell(value()) })
}

// Read has numbers read at each scrape, as many as tell is called with, each with
// one value for each label; of more than 500, the rest is left out. A name that ends with
// _total is that of a counter, whose numbers must not fall, all others are gauges.
// The function may run concurrently, must be quick, and takes the place of one
// that was registered under the name.
func (m *Metrics) Read(name, help string, read func(tell func(value float64, labels ...string)), labels ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.readings[name]; r != nil {
		r.read.Store(&read)
		return
	}
	mustBeNamed(name, true)
	r := &reading{desc: prometheus.NewDesc(name, help, labels, nil), kind: prometheus.GaugeValue}
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		r.kind, kind = prometheus.CounterValue, "counter"
	}
	r.read.Store(&read)
	m.readings[name] = r
	m.register(r)
	m.describe(name, kind, help, labels)
}

// reading is a metric whose numbers somebody else has.
type reading struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read atomic.Pointer[func(func(float64, ...string))]
}

// Describe implements prometheus.Collector.
func (r *reading) Describe(to chan<- *prometheus.Desc) { to <- r.desc }

// Collect implements prometheus.Collector.
func (r *reading) Collect(to chan<- prometheus.Metric) {
	n := 0
	(*r.read.Load())(func(value float64, labels ...string) {
		if n++; n <= maxSeries {
			to <- prometheus.MustNewConstMetric(r.desc, r.kind, value, legible(labels)...)
		}
	})
}

package proc

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// latency are the bounds of a histogram's buckets, in seconds: finest where an
// operation that is well is found, and up to where every caller has given up.
var latency = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// maxHistograms is how many different labels a histogram tells apart: each has a
// series for each bucket. What comes beyond is observed under the label "other".
const maxHistograms = 100

// Histogram says how long something took: how many took so long, for each value
// of its labels, in buckets from 0.5 ms to 30 s. Scrapers that ask for native
// histograms get those beside them.
type Histogram struct {
	vec    *prometheus.HistogramVec
	series series
}

// Histogram returns the histogram of that name, which ends with _seconds.
func (m *Metrics) Histogram(name, help string, labels ...string) *Histogram {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.histograms[name]; h != nil {
		return h
	}
	mustBeNamed(name, strings.HasSuffix(name, "_seconds"))
	h := &Histogram{series: newSeries(labels, maxHistograms), vec: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: latency,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, labels)}
	m.register(h.vec)
	m.histograms[name] = h
	m.describe(name, "histogram", help, labels)
	if len(labels) == 0 {
		h.vec.WithLabelValues()
	}
	return h
}

// Closed begins each series of labels that have these values, in the order of
// the labels, with nothing observed. It returns the histogram.
func (h *Histogram) Closed(values ...[]string) *Histogram {
	if h == nil {
		return nil
	}
	for each := range product(values) {
		h.Of(each...)
	}
	return h
}

// Observe notes how long something took, under one value for each label.
func (h *Histogram) Observe(took time.Duration, values ...string) { h.Of(values...).Observe(took) }

// Of returns what observes under one value for each label, without looking for
// the series each time: for what happens often.
func (h *Histogram) Of(values ...string) *Timing {
	if h == nil {
		return nil
	}
	return &Timing{h.vec.WithLabelValues(h.series.bounded(values)...)}
}

// Timing is one series of a histogram; nil observes nothing.
type Timing struct{ observer prometheus.Observer }

// Observe notes how long something took. It takes no lock.
func (t *Timing) Observe(took time.Duration) {
	if t != nil {
		t.observer.Observe(took.Seconds())
	}
}

package proc

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries is how many different labels a counter tells apart. What comes beyond
// counts under the label "other": labels come from the outside now and then.
const maxSeries = 500

// series are the values of labels that a metric tells apart.
type series struct {
	labels int
	most   int

	mu    sync.Mutex
	known map[string]struct{}
}

func newSeries(labels []string, most int) series {
	return series{labels: len(labels), most: most, known: map[string]struct{}{}}
}

// bounded are the labels, or "other" for each of them when there are too many.
func (s *series) bounded(values []string) []string {
	if len(values) == 0 {
		return values
	}
	values = legible(values)
	key := strings.Join(values, "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.known[key]; known {
		return values
	}
	if len(s.known) >= s.most {
		return slices.Repeat([]string{"other"}, s.labels)
	}
	s.known[key] = struct{}{}
	return values
}

// legible are labels as they can be scraped: in UTF-8, or the library panics.
func legible(values []string) []string {
	if !slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
		return values
	}
	values = slices.Clone(values)
	for i, v := range values {
		values[i] = strings.ToValidUTF8(v, "\uFFFD")
	}
	return values
}

// Counter is a number that only grows, or one for each value of its labels.
type Counter struct {
	vec    *prometheus.CounterVec
	series series
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
		series: newSeries(labels, maxSeries),
	}
	m.register(c.vec)
	m.counters[name] = c
	m.describe(name, "counter", help, labels)
	if len(labels) == 0 {
		c.vec.WithLabelValues() // a series of its own, at 0
	}
	return c
}

// Closed begins each series of labels that have these values, in the order of
// the labels, with 0. It returns the counter.
func (c *Counter) Closed(values ...[]string) *Counter {
	if c == nil {
		return nil
	}
	for each := range product(values) {
		c.Of(each...)
	}
	return c
}

// Add counts n more, under one value for each label.
func (c *Counter) Add(n int, values ...string) {
	if c == nil || n == 0 {
		return
	}
	c.vec.WithLabelValues(c.series.bounded(values)...).Add(float64(n))
}

// Of returns what counts under one value for each label, without looking for the
// series each time: for what happens often.
func (c *Counter) Of(values ...string) *Tally {
	if c == nil {
		return nil
	}
	return &Tally{c.vec.WithLabelValues(c.series.bounded(values)...)}
}

// Tally is one series of a counter; nil counts nothing.
type Tally struct{ counter prometheus.Counter }

// Add counts n more. It is one atomic operation.
func (t *Tally) Add(n int) {
	if t == nil || n == 0 {
		return
	}
	t.counter.Add(float64(n))
}

// product yields every choice of one value from each list, until it is stopped.
func product(lists [][]string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		chosen := make([]string, len(lists))
		var choose func(i int) bool
		choose = func(i int) bool {
			if i == len(lists) {
				return yield(slices.Clone(chosen))
			}
			for _, v := range lists[i] {
				chosen[i] = v
				if !choose(i + 1) {
					return false
				}
			}
			return true
		}
		choose(0)
	}
}

// Level is a number that rises and falls, of what is under way.
type Level struct{ gauge prometheus.Gauge }

// Level returns the level of that name.
func (m *Metrics) Level(name, help string) *Level {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.levels[name]; l != nil {
		return l
	}
	mustBeNamed(name, !strings.HasSuffix(name, "_total"))
	l := &Level{prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})}
	m.register(l.gauge)
	m.levels[name] = l
	m.describe(name, "gauge", help, nil)
	return l
}

// Rise counts one more, until fall is called, once.
func (l *Level) Rise() (fall func()) {
	if l == nil {
		return func() {}
	}
	l.gauge.Inc()
	return l.gauge.Dec
}

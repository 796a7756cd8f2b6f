package proc

import "math"

// Figure is one series of a metric at one moment.
type Figure struct {
	Labels map[string]string
	Value  float64 // of a histogram: how many were observed
	// Buckets are those of a histogram, from the lowest on; the last has no bound.
	Buckets []Bucket
}

// Bucket counts what was observed up to a bound.
type Bucket struct {
	Upto  float64 // seconds; +Inf for the last
	Count uint64  // all of the lower buckets included
}

// Figures reads all series of our own metrics, as a scrape does, by the names of
// the metrics. Those of nil are none.
func (m *Metrics) Figures() (map[string][]Figure, error) {
	if m == nil {
		return nil, nil
	}
	families, err := m.own.Gather()
	all := make(map[string][]Figure, len(families))
	for _, family := range families {
		list := make([]Figure, 0, len(family.GetMetric()))
		for _, series := range family.GetMetric() {
			f := Figure{Labels: make(map[string]string, len(series.GetLabel()))}
			for _, l := range series.GetLabel() {
				f.Labels[l.GetName()] = l.GetValue()
			}
			switch h := series.GetHistogram(); {
			case h != nil:
				f.Value = float64(h.GetSampleCount())
				for _, b := range h.GetBucket() {
					f.Buckets = append(f.Buckets, Bucket{b.GetUpperBound(), b.GetCumulativeCount()})
				}
				f.Buckets = append(f.Buckets, Bucket{math.Inf(1), h.GetSampleCount()})
			case series.GetCounter() != nil:
				f.Value = series.GetCounter().GetValue()
			default:
				f.Value = series.GetGauge().GetValue()
			}
			list = append(list, f)
		}
		all[family.GetName()] = list
	}
	return all, err
}

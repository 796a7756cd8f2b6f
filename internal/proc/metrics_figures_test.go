package proc_test

import (
	"math"
	"testing"
	"time"

	"tidings/internal/proc"
)

func TestFiguresAreThoseOfAScrape(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	m.Counter("tidings_things_total", "Things.", "kind").Add(3, "blue")
	m.Gauge("tidings_level", "A level.", func() float64 { return 7 })
	h := m.Histogram("tidings_wait_seconds", "A wait.").Of()
	h.Observe(2 * time.Millisecond)
	h.Observe(time.Hour)
	all, err := m.Figures()
	if err != nil {
		t.Fatal(err)
	}
	if f := all["tidings_things_total"]; len(f) != 1 || f[0].Value != 3 || f[0].Labels["kind"] != "blue" {
		t.Errorf("the counter: %+v", f)
	}
	if f := all["tidings_level"]; len(f) != 1 || f[0].Value != 7 {
		t.Errorf("the gauge: %+v", f)
	}
	f := all["tidings_wait_seconds"]
	if len(f) != 1 || f[0].Value != 2 {
		t.Fatalf("the histogram: %+v", f)
	}
	below, last := uint64(0), f[0].Buckets[len(f[0].Buckets)-1]
	for _, b := range f[0].Buckets {
		if b.Upto <= .0025 {
			below = b.Count
		}
	}
	if below != 1 || !math.IsInf(last.Upto, 1) || last.Count != 2 {
		t.Errorf("the buckets: %+v", f[0].Buckets)
	}
	if all["go_goroutines"] != nil {
		t.Error("what Go tells is read too")
	}
	if none, err := (*proc.Metrics)(nil).Figures(); none != nil || err != nil {
		t.Errorf("of nothing: %v %v", none, err)
	}
}

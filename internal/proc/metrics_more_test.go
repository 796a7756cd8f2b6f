package proc_test

import (
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
)

func TestHistogramsSayHowLongThingsTook(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	h := m.Histogram("tidings_wait_seconds", "Wait.", "kind").Closed([]string{"a", "b"})
	h.Observe(3*time.Millisecond, "a")
	h.Of("a").Observe(2 * time.Second)
	m.Histogram("tidings_wait_seconds", "Wait.", "kind").Observe(time.Minute, "a") // another edition
	proctest.Scrape(t, m).Expect(t, proctest.Numbers{
		`tidings_wait_seconds_bucket{kind="a",le="0.0025"}`: 0,
		`tidings_wait_seconds_bucket{kind="a",le="0.005"}`:  1,
		`tidings_wait_seconds_bucket{kind="a",le="30"}`:     2,
		`tidings_wait_seconds_bucket{kind="a",le="+Inf"}`:   3,
		`tidings_wait_seconds_sum{kind="a"}`:                62.003,
		`tidings_wait_seconds_count{kind="a"}`:              3,
		`tidings_wait_seconds_count{kind="b"}`:              0,
	})
}

func TestClosedSetsAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	m.Counter("tidings_turns_total", "Turns.", "side", "code").Closed([]string{"left", "right"}, []string{"OK", "LATE"})
	m.Counter("tidings_walks_total", "Walks.")
	level := m.Level("tidings_walkers", "Who walks.")
	fall := level.Rise()
	level.Rise()()
	proctest.Scrape(t, m).Expect(t, proctest.Numbers{
		`tidings_turns_total{code="OK",side="left"}`: 0, `tidings_turns_total{code="LATE",side="right"}`: 0,
		`tidings_walks_total`: 0, `tidings_walkers`: 1,
	})
	fall()
	proctest.Scrape(t, m).Expect(t, proctest.Numbers{`tidings_walkers`: 0})
}

// Labels come from subjects of the bus now and then, which hold any bytes.
func TestALabelThatIsNoTextIsCountedAsOne(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	m.Counter("tidings_turns_total", "Turns.", "side").Add(1, "a\xffb")
	m.Histogram("tidings_wait_seconds", "Wait.", "kind").Observe(time.Second, "a\xffb")
	m.Read("tidings_open", "Open.", func(tell func(float64, ...string)) { tell(1, "a\xffb\n\"") }, "kind")
	proctest.Scrape(t, m).Expect(t, proctest.Numbers{
		"tidings_turns_total{side=\"a\uFFFDb\"}": 1, "tidings_wait_seconds_count{kind=\"a\uFFFDb\"}": 1,
		"tidings_open{kind=\"a\uFFFDb\\n\\\"\"}": 1,
	})
}

func TestNumbersOfSomebodyElseAreRead(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	read := func(n float64) func(func(float64, ...string)) {
		return func(tell func(float64, ...string)) {
			tell(n, "a")
			tell(2*n, "b")
		}
	}
	m.Read("tidings_open", "Open.", read(1), "kind")
	m.Read("tidings_open", "Open.", read(2), "kind") // takes its place
	m.Read("tidings_opened_total", "Opened.", read(7), "kind")
	m.Read("tidings_many", "Many.", func(tell func(float64, ...string)) {
		for i := range 2000 {
			tell(1, fmt.Sprint(i))
		}
	}, "which")
	n := proctest.Scrape(t, m)
	n.Expect(t, proctest.Numbers{`tidings_open{kind="a"}`: 2, `tidings_open{kind="b"}`: 4, `tidings_opened_total{kind="b"}`: 14})
	if got := n.Sum("tidings_many"); got != 500 {
		t.Errorf("%v series", got)
	}
}

// A histogram has a series for each bucket: it tells fewer labels apart.
func TestTheLabelsOfHistogramsAreBounded(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	h := m.Histogram("tidings_wait_seconds", "Wait.", "who")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 250 {
				h.Observe(time.Millisecond, fmt.Sprint(i, j))
			}
		})
	}
	wg.Wait()
	n := proctest.Scrape(t, m)
	if got := n.Sum("tidings_wait_seconds_count"); got != 1000 {
		t.Errorf("%v were observed", got)
	}
	if got := n[`tidings_wait_seconds_count{who="other"}`]; got != 900 {
		t.Errorf("%v beside the hundred that are told apart", got)
	}
}

func TestNothingIsObservedWithoutMetrics(t *testing.T) {
	t.Parallel()
	var m *proc.Metrics
	m.Histogram("tidings_wait_seconds", "Wait.", "kind").Closed([]string{"a"}).Observe(1, "a")
	m.Counter("tidings_things_total", "Things.", "kind").Closed([]string{"a"}).Of("a").Add(1)
	m.Level("tidings_things", "Things.").Rise()()
	m.Read("tidings_open", "Open.", nil)
}

// Both text formats are valid, by the judgement of Prometheus's own tool.
func TestTheTextIsWhatPrometheusReads(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool (of Debian's package prometheus) is not there")
	}
	m := proc.NewMetrics()
	m.Histogram("tidings_wait_seconds", "Wait.", "kind").Observe(time.Second, `with "quotes", \ and`+"\n")
	m.Counter("tidings_things_total", "Things.", "kind").Add(1, "ä")
	m.Level("tidings_walkers", "Who walks.").Rise()
	m.Read("tidings_open", "Open.", func(tell func(float64, ...string)) { tell(1, "a") }, "kind")
	w := httptest.NewRecorder()
	m.Route().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = w.Body
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w = httptest.NewRecorder()
	m.Route().Handler.ServeHTTP(w, r)
	if typ := w.Header().Get("Content-Type"); !strings.HasPrefix(typ, "application/openmetrics-text") || !strings.HasSuffix(w.Body.String(), "# EOF\n") {
		t.Errorf("as %s:\n%s", typ, w.Body)
	}
}

func BenchmarkMetrics(b *testing.B) {
	m := proc.NewMetrics()
	tally := m.Counter("tidings_things_total", "Things.", "kind").Of("a")
	timing := m.Histogram("tidings_wait_seconds", "Wait.", "kind").Of("a")
	b.Run("tally", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tally.Add(1)
		}
	})
	b.Run("timing", func(b *testing.B) {
		b.ReportAllocs()
		for i := time.Duration(0); b.Loop(); i++ {
			timing.Observe(i % 1000 * time.Microsecond)
		}
	})
	labelled := m.Histogram("tidings_wait_seconds", "Wait.", "kind")
	b.Run("labelled timing", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			labelled.Observe(time.Millisecond, "a")
		}
	})
}

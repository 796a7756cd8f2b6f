package proc_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"tidings/internal/proc"
)

func scraped(t *testing.T, m *proc.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Route().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatal(w.Code, err)
	}
	return string(text)
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	m.Counter("tidings_things_total", "Things.", "kind").Add(2, "a")
	m.Counter("tidings_things_total", "Things.", "kind").Add(1, "a") // another edition
	m.Gauge("tidings_depth_bytes", "Depth.", func() float64 { return 1 })
	m.Gauge("tidings_depth_bytes", "Depth.", func() float64 { return 7 }) // takes its place
	text := scraped(t, m)
	for _, want := range []string{
		`tidings_things_total{kind="a"} 3`, "tidings_depth_bytes 7",
		"tidings_build_info{", "go_goroutines ", "process_cpu_seconds_total ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var names []string
	for _, k := range m.Known() {
		names = append(names, k.Name)
	}
	if got := strings.Join(names, " "); got != "tidings_build_info tidings_depth_bytes tidings_things_total" {
		t.Error(got)
	}
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	c := m.Counter("tidings_callers_total", "Callers.", "who")
	for i := range 2000 {
		c.Add(1, fmt.Sprint(i))
	}
	text := scraped(t, m)
	if n := strings.Count(text, "\ntidings_callers_total{"); n != 501 || !strings.Contains(text, `tidings_callers_total{who="other"} 1500`) {
		t.Errorf("%d series", n)
	}
}

func TestNoMetricsCountNothing(t *testing.T) {
	t.Parallel()
	var m *proc.Metrics
	m.Counter("tidings_things_total", "Things.").Add(1)
	m.Gauge("tidings_depth", "Depth.", func() float64 { return 1 })
}

func TestMetricsWithOtherNamesAreNotRegistered(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tidings_things", "things_total", "tidings_Things_total"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is registered", name)
				}
			}()
			proc.NewMetrics().Counter(name, "Things.")
		}()
	}
}

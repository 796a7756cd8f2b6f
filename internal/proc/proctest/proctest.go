// Package proctest reads what a process tells, for tests: its metrics as a scraper
// does, and its log.
package proctest

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tidings/internal/proc"
)

// Numbers are what a scrape told, by series as the text format has them:
// `name{label="value",…}` with the labels in the order of their names.
type Numbers map[string]float64

// Scrape reads all series.
func Scrape(t testing.TB, m *proc.Metrics) Numbers {
	t.Helper()
	w := httptest.NewRecorder()
	m.Route().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("the scrape: %d %s", w.Code, w.Body)
	}
	return Read(t, w.Body.String())
}

// Read reads the series of a text.
func Read(t testing.TB, text string) Numbers {
	t.Helper()
	all := Numbers{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[line[:cut]] = value
	}
	return all
}

// Ours are those that tell of the service, and not of Go or the system.
func (n Numbers) Ours() Numbers {
	ours := Numbers{}
	for series, value := range n {
		if strings.HasPrefix(series, "tidings_") {
			ours[series] = value
		}
	}
	return ours
}

// Expect fails the test for each number that is not there, or another.
func (n Numbers) Expect(t testing.TB, want Numbers) {
	t.Helper()
	for series, value := range want {
		if got, there := n[series]; !there || got != value {
			t.Errorf("%s is %v (there: %t), want %v", series, got, there, value)
		}
	}
}

// Sum adds up the series of a metric whose labels hold all of these texts.
func (n Numbers) Sum(name string, labels ...string) (sum float64) {
series:
	for series, value := range n {
		if found, rest, _ := strings.Cut(series, "{"); found == name {
			for _, l := range labels {
				if !strings.Contains(rest, l) {
					continue series
				}
			}
			sum += value
		}
	}
	return sum
}

// Log is what was written to it, for those who look while others write. The zero
// value is ready; all may run concurrently.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer; it never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all of it so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Package viewtest gives tests the PostgreSQL that make postgres has started,
// and servers of their own that they may stop and kill.
package viewtest

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidings/view"
)

// variable holds the URL of a database that tests may fill as they like. While
// it is set the tests of views, and of what reads them, run on PostgreSQL.
const variable = "POSTGRES_TEST_URL"

// Enabled reports whether there is a PostgreSQL for tests.
func Enabled() bool { return os.Getenv(variable) != "" }

// Need skips a test that is about PostgreSQL when there is none.
func Need(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip(variable + " is not set: make postgres runs this")
	}
}

var prefixes atomic.Int64

// Options returns where a shared view of the test's own is.
func Options(t testing.TB) view.SharedOptions {
	t.Helper()
	Need(t)
	prefix := fmt.Sprintf("t%d_%d_%d", os.Getpid(), time.Now().UnixNano()%1e9, prefixes.Add(1))
	return view.SharedOptions{URL: WithSettings(os.Getenv(variable), "pool_max_conns=4"), Prefix: prefix, Logger: slog.New(slog.DiscardHandler)}
}

// WithSettings adds settings to the URL of a database.
func WithSettings(url string, settings ...string) string {
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	return url + separator + strings.Join(settings, "&")
}

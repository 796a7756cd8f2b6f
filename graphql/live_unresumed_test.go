package graphql_test

import (
	"log/slog"
	"strings"
	"testing"

	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
)

// Who looks after the service finds why a subscriber could not be told what was
// missed, and from where on.
func TestAResumeThatFailsIsCountedAndLoggedWithItsCursor(t *testing.T) {
	t.Parallel()
	said, m := &proctest.Log{}, proc.NewMetrics()
	s := newService(t, graphql.Options{Metrics: m, Logger: slog.New(slog.NewJSONHandler(said, nil))})
	t.Cleanup(s.engine.Close)
	query := `subscription Posts { postChanged { cursor post { id } } }`
	b := newInbox()
	stop := s.subscribe(t, ada, query, "", b)
	s.post(t, "first")
	b.awaitCount(t, 1)
	stop()
	cursor := b.cursor(0)
	s.post(t, "missed")
	if err := graphql.Break(s.engine); err != nil {
		t.Fatal(err)
	}
	again := newInbox()
	s.subscribe(t, ada, query, cursor, again)
	again.awaitEnd(t, fault.Internal)
	proctest.Scrape(t, m).Expect(t, proctest.Numbers{`tidings_resumes_total{outcome="failed"}`: 1, `tidings_resumes_total{outcome="replayed"}`: 0})
	for _, want := range []string{`"cursor":"` + cursor + `"`, `"op_name":"Posts"`, `"code":"INTERNAL"`, "the block is damaged"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, said)
		}
	}
}

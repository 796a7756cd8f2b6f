package graphql_test

import (
	"strings"
	"testing"
	"time"

	"tidings/graphql"
)

// A service that floods with nonsense does not flood the log.
func TestWrongMessagesAreLoggedOnceASecondAndCounted(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	b := newInbox()
	x.subscribe(t, nobody, heard, "", b)
	const flood = 2000
	begun := time.Now()
	for range flood {
		if err := x.nc.Publish("live.a", []byte(`{"must":"no"}`)); err != nil {
			t.Fatal(err)
		}
	}
	b.awaitCount(t, flood)
	most := 2 * (int(time.Since(begun)/time.Second) + 1)
	if lines := strings.Count(x.log.String(), "\n"); lines < 2 || lines > most {
		t.Errorf("%d lines for %d messages, want at most %d", lines, flood, most)
	}
	sent := flood
	b.await(t, "a count of what was left out", func() bool {
		x.publish(t, "live.a", `nonsense`)
		sent++
		return strings.Contains(x.log.String(), "left_out=")
	})
	b.awaitCount(t, sent)
}

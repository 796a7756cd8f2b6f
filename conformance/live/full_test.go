//go:build conformance

package live

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// A client for which there is no place is closed with 1013 and comes back by
// itself, until another has left.
func TestAForeignClientComesBackUntilThereIsAPlace(t *testing.T) {
	c := newCluster(t, 1, "http://localhost", "--max-connections", "1")
	var got struct {
		Codes []int
		Told  string
	}
	ended := script(t, func(line []byte) {
		if err := json.Unmarshal(line, &got); err != nil {
			t.Errorf("printed %q", line)
		}
	}, "full.mjs", c.url(), token(t, "alice"))
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the client was never let in")
	}
	if len(got.Codes) < 2 || !slices.Equal(got.Codes[:2], []int{1013, 1013}) || !strings.Contains(got.Told, "Query") {
		t.Errorf("closed with %v, told %s", got.Codes, got.Told)
	}
}

//go:build conformance

package live

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/conformance/browser"
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

// A page sees the code and the reason: of a handshake that was refused it would
// see neither.
func TestAPageSeesThatThereIsNoPlace(t *testing.T) {
	a := newAudience("WebSocket")
	origin := servePage(t, a)
	c := newCluster(t, 1, origin, "--max-connections", "1")
	browser.Start(t, browser.Chromium, nil).Open(browser.Window{Name: "page", URL: origin + "/full.html?" + url.Values{"url": {c.url()}}.Encode()})
	await(t, time.Minute, "the page is told", func() error {
		return a.have("1013 true the server has as many connections as it may; try again later")
	})
}

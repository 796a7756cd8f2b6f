//go:build conformance

package processes

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tidings/conformance/browser"
)

// The page asks for another token when its own counts no more, and goes on with it, by
// WebSocket and by SSE. A service that is away is not taken for blocked WebSockets.
func TestTheExamplePageGoesOnWithAnotherTokenAndWhenTheServiceIsBack(t *testing.T) {
	site := httptest.NewServer(http.FileServer(http.Dir(buildPage(t))))
	t.Cleanup(site.Close)
	schema, err := filepath.Abs("../../examples/dashboard/schema")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{data: t.TempDir()}
	alone := startAPI(t, "api", c.data, []string{"TIDINGS_HISTORY=2000"}, "--schema", schema, "--origins", site.URL)
	c.apis = []*api{alone}
	b := browser.Start(t, browser.Chromium, nil)
	feed := startFeed(t, alone.url, token(t, c.data, "feed", "SERVICE"))
	pages := []*visit{
		visitPage(b, site.URL, visit{name: "socket", service: alone.url, token: token(t, c.data, "ada", "USER"), width: 1280, height: 900}),
		visitPage(b, site.URL, visit{name: "silent", service: alone.url, token: token(t, c.data, "ben", "USER"), width: 390, height: 844, silent: true}),
	}
	for _, page := range pages {
		page.poll(t, "it is live", func(s plotState) bool { return strings.HasPrefix(s.State, "live by ") && s.Events > 0 })
		if s := page.state(t); s.Notice != "" {
			t.Errorf("%s: a page that is live says %q", page.name, s.Notice)
		}
	}
	for _, sub := range []string{"ada", "ben"} {
		revoked, err := client.Post(alone.adminPort()+"/revoke", "application/json", strings.NewReader(`{"sub":"`+sub+`"}`))
		if err != nil || revoked.StatusCode != http.StatusNoContent {
			t.Fatalf("revoke: %v %v", revoked, err)
		}
		revoked.Body.Close()
	}
	for _, page := range pages {
		page.poll(t, "it asks for another token", func(s plotState) bool { return s.Asks && strings.HasPrefix(s.State, "not connected") })
		page.Shot(filepath.Join(shots(t), "asks-"+page.name+".png"), "")
		page.enter(token(t, c.data, "dora", "USER"))
	}
	for _, page := range pages {
		page.poll(t, "it has gone on", func(s plotState) bool { return strings.HasPrefix(s.State, "live by ") && s.Reconnected == 1 && !s.Asks })
	}
	alone.kill(t)
	for _, page := range pages {
		page.poll(t, "it tries again", func(s plotState) bool { return strings.HasPrefix(s.State, "not connected: tries again by ") })
		page.Shot(filepath.Join(shots(t), "away-"+page.name+".png"), "")
	}
	alone.restart(t)
	for _, page := range pages {
		page.poll(t, "it is back", func(s plotState) bool { return s.Reconnected == 2 })
	}
	if s := pages[0].state(t); s.State != "live by WebSocket" {
		t.Errorf("it is %s", s.State)
	}
	feed.end(t)
	for _, page := range pages {
		page.holds(t, c)
	}
}

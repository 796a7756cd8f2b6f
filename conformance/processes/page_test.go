//go:build conformance

package processes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/conformance/browser"
)

// The page of examples/dashboard is built and opened in Chromium: where it can have a
// WebSocket, where a proxy refuses them, and where they are opened and never answered.
// While readings are made the process that has its connection is killed: each page
// goes on at another, has every reading once and in order, and says so.
func TestTheExamplePageMissesNothingWhenItsProcessIsKilled(t *testing.T) {
	site := httptest.NewServer(http.FileServer(http.Dir(buildPage(t))))
	t.Cleanup(site.Close)
	c := plotCluster(t, site.URL)
	trusted, cert, key := certificate(t)
	open := startHAProxy(t, c.apis, cert, key)
	closed := startHAProxyWith(t, c.apis, cert, key, "default_backend apis", "http-request deny if { req.hdr(Upgrade) -m found }\n    default_backend apis")
	open.allUp(t)
	b := browser.Start(t, browser.Chromium, trusted)
	socket := visitPage(b, site.URL, visit{name: "socket", service: open.private.url, token: token(t, c.data, "ada", "USER"), width: 1280, height: 900})
	stream := visitPage(b, site.URL, visit{name: "stream", service: closed.private.url, token: token(t, c.data, "ben", "USER"), width: 390, height: 844})
	silent := visitPage(b, site.URL, visit{name: "silent", service: open.private.url, token: token(t, c.data, "cy", "USER"), width: 390, height: 844, silent: true})
	feed := startFeed(t, open.plain.url, token(t, c.data, "feed", "SERVICE"))
	socket.poll(t, "it is live by WebSocket", func(s plotState) bool { return s.State == "live by WebSocket" && s.Events >= 20 })
	for _, page := range []*visit{stream, silent} {
		page.poll(t, "it is live by SSE", func(s plotState) bool { return s.State == "live by SSE: WebSockets are blocked" && s.Events >= 20 })
	}
	shots := shots(t)
	socket.Shot(filepath.Join(shots, "live-light.png"), "light")

	for _, transport := range []string{"websocket", "sse"} {
		page := map[string]*visit{"websocket": socket, "sse": stream}[transport]
		page.Shot(filepath.Join(shots, "before-"+transport+".png"), "")
		before := page.state(t)
		holders := c.holders(t, transport)
		for _, a := range holders {
			a.kill(t)
		}
		page.poll(t, "it has reconnected", func(s plotState) bool { return s.Reconnected > before.Reconnected && s.Events > before.Events+40 })
		page.Shot(filepath.Join(shots, "killed-"+transport+".png"), "")
		for _, a := range holders {
			a.restart(t)
		}
		open.allUp(t)
	}
	feed.end(t)
	for _, page := range []*visit{socket, stream, silent} {
		page.holds(t, c)
		page.Shot(filepath.Join(shots, page.name+"-light.png"), "light")
		page.Shot(filepath.Join(shots, page.name+"-dark.png"), "dark")
	}
	b.Quiet()
}

// shots is where pictures of pages are kept: where TIDINGS_SCREENSHOTS says, or until
// the test ends.
func shots(t *testing.T) string {
	t.Helper()
	return cmp.Or(os.Getenv("TIDINGS_SCREENSHOTS"), t.TempDir())
}

// plotCluster runs a worker and three apis with the schema of the page, which may call
// them from the origin.
func plotCluster(t *testing.T, origin string) *cluster {
	t.Helper()
	schema, err := filepath.Abs("../../examples/dashboard/schema")
	if err != nil {
		t.Fatal(err)
	}
	_, bus := startNATS(t)
	c := &cluster{data: t.TempDir()}
	env := []string{"TIDINGS_NATS_URL=" + bus, "TIDINGS_HISTORY=2000"} // all that the test makes
	admin := freePort(t)
	start(t, &process{
		name: "worker", ready: "http://" + admin + "/readyz", env: env,
		args: []string{"--dev", "--schema", schema, "--data", c.data, "--admin", admin},
	})
	for i := range 3 {
		c.apis = append(c.apis, startAPI(t, fmt.Sprintf("api %d", i+1), c.data, env, "--schema", schema, "--origins", origin, "--trusted-proxies", "127.0.0.0/8"))
	}
	return c
}

// holders are the apis that have a connection of the transport; never all of them.
func (c *cluster) holders(t *testing.T, transport string) (list []*api) {
	t.Helper()
	for _, a := range c.apis {
		_, text := fetch(t, a.adminPort()+"/metrics", anybody, "")
		if open := fmt.Sprintf("tidings_connections{transport=%q} ", transport); strings.Contains(text, open) && !strings.Contains(text, open+"0\n") {
			list = append(list, a)
		}
	}
	if len(list) == 0 || len(list) == len(c.apis) {
		t.Fatalf("%d processes have a connection by %s", len(list), transport)
	}
	return list
}

// reading is one of a sensor's.
type reading struct {
	Version int     `json:"version"`
	Value   float64 `json:"value"`
}

// logged are the readings of each sensor, by its id, as the log has them.
func (c *cluster) logged(t *testing.T) map[string][]reading {
	t.Helper()
	who, base := token(t, c.data, "auditor", "USER"), c.apis[0].url
	var list struct {
		Sensors struct{ Nodes []struct{ ID string } }
	}
	mustPost(t, base, who, call{Query: `{ sensors(first: 100) { nodes { id } } }`}, &list)
	all := map[string][]reading{}
	for _, s := range list.Sensors.Nodes {
		after := any(nil)
		for more := true; more; {
			var page struct {
				SensorHistory struct {
					Nodes     []struct{ Sensor reading }
					EndCursor string
					HasMore   bool
				}
			}
			mustPost(t, base, who, call{
				Query:     `query($id: ID!, $after: String) { sensorHistory(id: $id, first: 100, after: $after) { nodes { sensor { version value } } endCursor hasMore } }`,
				Variables: map[string]any{"id": s.ID, "after": after},
			}, &page)
			for _, n := range page.SensorHistory.Nodes {
				all[s.ID] = append(all[s.ID], n.Sensor)
			}
			after, more = page.SensorHistory.EndCursor, page.SensorHistory.HasMore
		}
	}
	return all
}

// buildPage builds examples/dashboard, and returns where the build is.
func buildPage(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), "npm", "run", "build", "--", "--outDir", dir, "--logLevel", "warn")
	cmd.Dir = "../../examples/dashboard"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the page (its packages are installed by make clients): %v\n%s", err, out)
	}
	return dir
}

// feed is the program of the example that makes readings.
type feed struct{ cmd *exec.Cmd }

// startFeed makes readings through an api until the test ends, or end.
func startFeed(t *testing.T, base, token string) *feed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "feed.mjs", base+"/graphql", "25")
	cmd.Dir = "../../examples/dashboard"
	cmd.Env = append(environ(t.TempDir()), "TOKEN="+token)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := &feed{cmd}
	t.Cleanup(func() { f.end(t) })
	return f
}

// end ends it, whatever it waits for.
func (f *feed) end(t *testing.T) {
	t.Helper()
	if f.cmd.ProcessState != nil {
		return
	}
	_ = f.cmd.Process.Kill() // what it has sent may be carried out after this
	_ = f.cmd.Wait()
	if state := f.cmd.ProcessState.String(); state != "signal: killed" {
		t.Errorf("the feed has ended by itself: %s", state)
	}
}

// visit is one opened page.
type visit struct {
	*browser.Page
	name           string
	service, token string // what is entered
	width, height  int
	silent         bool // its WebSockets are opened, and never answered
}

// visitPage opens the page and enters where the service is, and a token.
func visitPage(b *browser.Browser, site string, v visit) *visit {
	w := browser.Window{Name: v.name, URL: site, Width: v.width, Height: v.height}
	if v.silent {
		w.Silent = strings.Replace(v.service, "http", "ws", 1) + "/graphql"
	}
	v.Page = b.Open(w)
	v.Fill("#url", v.service+"/graphql")
	v.enter(v.token)
	return &v
}

// enter gives the page a token.
func (v *visit) enter(token string) {
	v.Fill("#token", token)
	v.Click("form button", "")
}

// plotState is what the page says, and what it has.
type plotState struct {
	State                               string
	Notice                              string
	Asks                                bool // for a token
	Events, Missing, Twice, Reconnected int
	Returns                             []string
	Sensors                             map[string][]reading
	From                                map[string]int // the version of the first that was told as an event
}

func (v *visit) state(t *testing.T) (s plotState) {
	t.Helper()
	text := v.Evaluate(`(() => {
		const text = id => document.getElementById(id).textContent, sensors = {}, from = {};
		for (const s of readings.sensors.values()) {
			sensors[s.id] = s.points.map(({ version, value }) => ({ version, value }));
			from[s.id] = s.points.find(p => p.how !== "before")?.version ?? s.version + 1;
		}
		return {
			state: text("state"), notice: text("notice"), asks: !document.getElementById("entry").hidden, events: readings.events, missing: +text("missing"), twice: +text("twice"),
			reconnected: +text("reconnected"), returns: [...document.querySelectorAll("#returns li")].map(li => li.textContent), sensors, from,
		};
	})()`)
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// poll waits until the page is as it should be.
func (v *visit) poll(t *testing.T, what string, is func(plotState) bool) {
	t.Helper()
	poll(t, time.Minute, v.name+": "+what, func() error {
		s := v.state(t)
		if is(s) {
			return nil
		}
		s.Sensors = nil
		return fmt.Errorf("%+v", s)
	})
}

// holds waits until the page has the last readings of the log, and fails the test
// unless it has had each once and in order, and says so.
func (v *visit) holds(t *testing.T, c *cluster) {
	t.Helper()
	var last plotState
	var log map[string][]reading
	v.poll(t, "it has what the log has", func(s plotState) bool {
		last, log = s, c.logged(t) // what the feed had sent may come late
		return maps.EqualFunc(s.Sensors, log, func(a, b []reading) bool { return len(a) > 0 && a[len(a)-1] == b[len(b)-1] })
	})
	events := 0
	for id, list := range log {
		if !slices.Equal(last.Sensors[id], list) {
			t.Errorf("%s: of %s it has %v, the log %v", v.name, id, last.Sensors[id], list)
		}
		events += len(list) - last.From[id] + 1
	}
	if last.Missing != 0 || last.Twice != 0 || last.Reconnected == 0 {
		t.Errorf("%s says %d missing, %d twice, %d reconnections", v.name, last.Missing, last.Twice, last.Reconnected)
	}
	t.Logf("%s: %s; %d events; %v", v.name, last.State, last.Events, last.Returns)
	if last.Events != events {
		t.Errorf("%s counts %d events, the log %d", v.name, last.Events, events)
	}
}

package edge

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/internal/proc/proctest"
)

// socket opens a socket of an anonymous caller.
func (c *counted) socket(t *testing.T) wire {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: 20 * time.Second}
	ws, _, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(c.url, "http")+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	w := wire{t, ws}
	w.send(`{"type":"connection_init"}`)
	w.expect("connection_ack")
	return w
}

// follow subscribes to the changes of users, after a cursor if it is not empty.
func (w wire) follow(id, cursor string) {
	w.t.Helper()
	w.send(fmt.Sprintf(`{"id":%q,"type":"subscribe","payload":{"query":"subscription { userChanged { id } }","extensions":{"cursor":%q}}}`, id, cursor))
}

var cursorOf = regexp.MustCompile(`"cursor":"([^"]+)"`)

// next reads one result and returns its cursor.
func (w wire) next() string {
	w.t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, data, err := w.ReadMessage()
	m := cursorOf.FindSubmatch(data)
	if err != nil || m == nil {
		w.t.Fatalf("got %s %v, want a result", data, err)
	}
	return string(m[1])
}

func TestWhatIsDeliveredAndHowLateIsCounted(t *testing.T) {
	t.Parallel()
	c := count(t)
	const sockets, changes = 4, 3
	var all []wire
	for range sockets {
		w := c.socket(t)
		w.follow("1", "")
		all = append(all, w)
	}
	until(t, c.api, proctest.Numbers{`tidings_operations_live{transport="websocket"}`: sockets, `tidings_groups`: 1})
	cursor := ""
	for n := range changes {
		if code := c.createUser(t, n); code != "OK" {
			t.Fatal(code)
		}
		for _, w := range all {
			cursor = w.next()
		}
	}
	until(t, c.api, proctest.Numbers{
		`tidings_deliveries_total{transport="websocket"}`: sockets * changes, `tidings_executions_total`: changes,
		`tidings_delivery_latency_seconds_count`: changes, `tidings_replayed_events_total`: 0,
		`tidings_operations_total{code="OK",type="subscription"}`: sockets, `tidings_operations_total{code="OK",type="mutation"}`: changes,
		`tidings_operation_seconds_count{type="mutation"}`: changes,
	})
	if sum := proctest.Scrape(t, c.api)["tidings_delivery_latency_seconds_sum"]; sum <= 0 || sum > changes*20 {
		t.Errorf("%v s of latency", sum)
	}
	for _, w := range all {
		w.Close() // abruptly
	}
	until(t, c.api, proctest.Numbers{
		`tidings_connections{transport="websocket"}`: 0, `tidings_operations_live{transport="websocket"}`: 0, `tidings_groups`: 0,
		`tidings_connections_closed_total{reason="error",transport="websocket"}`: sockets,
	})

	c.createUser(t, changes)
	w := c.socket(t)
	w.follow("behind", cursor)
	newest := w.next()
	until(t, c.api, proctest.Numbers{`tidings_resumes_total{outcome="replayed"}`: 1, `tidings_replayed_events_total`: 1})
	w.follow("here", newest)
	until(t, c.api, proctest.Numbers{`tidings_resumes_total{outcome="continued"}`: 1})
	w.follow("wrong", "nonsense")
	w.expect("BAD_USER_INPUT")
	w.follow("of another log", "x"+newest)
	w.expect("CURSOR_EXPIRED")
	until(t, c.api, proctest.Numbers{
		`tidings_resumes_total{outcome="refused"}`: 1, `tidings_resumes_total{outcome="expired"}`: 1,
		`tidings_resumes_total{outcome="replayed"}`: 1, `tidings_resumes_total{outcome="continued"}`: 1,
		`tidings_resumes_total{outcome="failed"}`: 0, `tidings_resumes_total{outcome="left"}`: 0,
		`tidings_delivery_latency_seconds_count`: changes,
	})
}

func TestOperationsAndLimitsAreCounted(t *testing.T) {
	t.Parallel()
	c := count(t, "TIDINGS_MAX_OPERATIONS=1", "TIDINGS_MAX_BODY=20000", "TIDINGS_RATE_USER=0")
	proctest.Scrape(t, c.api).Expect(t, proctest.Numbers{
		`tidings_operations_total{code="OK",type="query"}`: 0, `tidings_operations_total{code="CURSOR_EXPIRED",type="subscription"}`: 0,
		`tidings_limits_refused_total{limit="depth"}`: 0,
	})
	for range 3 {
		if code := c.ask(t, "ada", `{ __typename }`); code != "OK" {
			t.Error(code)
		}
	}
	refused := []struct{ limit, code, query string }{
		{"depth", "DEPTH_LIMIT_EXCEEDED", `{ users { nodes ` + strings.Repeat(`{ posts { author `, 12) + `{ id }` + strings.Repeat(` } }`, 12) + ` } }`},
		{"aliases", "GRAPHQL_VALIDATION_FAILED", `{ ` + numbered(40, "a%d: __typename ") + `}`},
		{"roots", "GRAPHQL_VALIDATION_FAILED", `{ ` + strings.Repeat("__typename ", 40) + `}`},
		{"definitions", "GRAPHQL_VALIDATION_FAILED", numbered(60, "query q%d { __typename } ")},
		{"selections", "GRAPHQL_VALIDATION_FAILED", `{ users { nodes { ` + strings.Repeat("id ", 150) + `} } }`},
		{"tokens", "GRAPHQL_PARSE_FAILED", `{ ` + strings.Repeat("a ", 9000) + `}`},
		{"page", "BAD_USER_INPUT", `{ users(first: 100000) { nodes { id } } }`},
		{"text", "BAD_USER_INPUT", `{ user(id: "` + strings.Repeat("x", 3000) + `") { id } }`},
		{"body", "PAYLOAD_TOO_LARGE", `{ ` + strings.Repeat(" ", 30_000) + ` }`},
		{"cost", "COST_LIMIT_EXCEEDED", `{ users(first: 100) { nodes { posts(limit: 100) { author { posts(limit: 100) { id } } } } } }`},
	}
	strict := count(t, "TIDINGS_MAX_TOKENS=8000", "TIDINGS_MAX_TEXT=2000", "TIDINGS_MAX_BODY=20000", "TIDINGS_RATE_USER=0")
	for i, r := range refused {
		if code := strict.ask(t, "ada", r.query); code != r.code {
			t.Errorf("%s: %s", r.limit, code)
		}
		until(t, strict.api, proctest.Numbers{`tidings_limits_refused_total{limit="` + r.limit + `"}`: 1})
		if sum := proctest.Scrape(t, strict.api).Sum("tidings_limits_refused_total"); sum != float64(i+1) {
			t.Errorf("after %s: %v refused in all", r.limit, sum)
		}
	}
	w := c.socket(t)
	w.follow("1", "")
	w.follow("2", "")
	w.expect("RATE_LIMITED")
	until(t, c.api, proctest.Numbers{
		`tidings_operations_total{code="OK",type="query"}`: 3, `tidings_operation_seconds_count{type="query"}`: 3,
		`tidings_limits_refused_total{limit="operations"}`: 1,
	})

	limited := count(t, "TIDINGS_RATE_USER=2")
	for range 2 {
		limited.ask(t, "ada", `{ __typename }`)
	}
	if code := limited.ask(t, "ada", `{ __typename }`); code != "RATE_LIMITED" {
		t.Error(code)
	}
	until(t, limited.api, proctest.Numbers{`tidings_limits_refused_total{limit="rate"}`: 1, `tidings_operations_total{code="RATE_LIMITED",type="unknown"}`: 1})
}

func numbered(n int, each string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, each, i)
	}
	return b.String()
}

// What clients say never makes a series: names, values and paths do not.
func TestWhateverClientsSendTheSeriesAreFew(t *testing.T) {
	t.Parallel()
	c := count(t, "TIDINGS_RATE_USER=0")
	c.createUser(t, 0)
	w := c.socket(t)
	w.follow("0", "")
	until(t, c.api, proctest.Numbers{`tidings_operations_live{transport="websocket"}`: 1})
	before := len(proctest.Scrape(t, c.api).Ours())
	for n := range 300 {
		c.ask(t, fmt.Sprint("caller", n), fmt.Sprintf(`query Operation%d { user(id: "id%d") { name } nothing%d }`, n, n, n))
		if n%10 == 0 {
			c.ask(t, fmt.Sprint("caller", n), fmt.Sprintf(`mutation Of%d { updateUser(id: "id%d", input: {name: "x"}) { id } }`, n, n))
			w.send(fmt.Sprintf(`{"id":"s%d","type":"subscribe","payload":{"query":"subscription S%d { userChanged(id: \"id%d\") { id } }"}}`, n, n, n))
		}
		if n%50 == 0 {
			resp, err := http.Get(fmt.Sprintf("%s/nowhere%d", c.url, n))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	}
	for which, n := range map[string]proctest.Numbers{"api": proctest.Scrape(t, c.api), "worker": proctest.Scrape(t, c.worker)} {
		if len(n.Ours()) > 1500 {
			t.Errorf("%s has %d series", which, len(n.Ours()))
		}
	}
	if after := len(proctest.Scrape(t, c.api).Ours()); after > before+10 {
		t.Errorf("%d series became %d", before, after)
	}
}

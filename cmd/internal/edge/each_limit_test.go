package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/cmd/internal/boot"
	"tidings/schema"
)

// requestLimits are limits of one request: a value unlike the default, what it
// lets pass and what it does not, and how the latter is refused.
var requestLimits = map[string]struct {
	set            string
	within, beyond string // documents
	code           string
	roles          schema.Roles // of the caller; 0: anonymous
}{
	"max-depth":      {"3", `{ users { nodes { id } } }`, `{ users { nodes { posts { id } } } }`, "DEPTH_LIMIT_EXCEEDED", 0},
	"cost-anonymous": {"6", `{ users(first: 5) { nodes { id } } }`, `{ users(first: 6) { nodes { id } } }`, "COST_LIMIT_EXCEEDED", 0},
	"cost-user":      {"7", `{ users(first: 6) { nodes { id } } }`, `{ users(first: 7) { nodes { id } } }`, "COST_LIMIT_EXCEEDED", schema.User},
	"cost-service":   {"8", `{ users(first: 7) { nodes { id } } }`, `{ users(first: 8) { nodes { id } } }`, "COST_LIMIT_EXCEEDED", schema.Service},
	"max-page":       {"30", `{ users(last: 30) { nodes { id } } }`, `{ users(first: 31) { nodes { id } } }`, "BAD_USER_INPUT", 0},
	"max-items":      {"3", `{ users(filter: {id: {in: ["a", "b", "c"]}}) { nodes { id } } }`, `{ users(filter: {id: {in: ["a", "b", "c", "d"]}}) { nodes { id } } }`, "BAD_USER_INPUT", 0},
	"max-text":       {"10", `{ users(filter: {name: {eq: "0123456789"}}) { nodes { id } } }`, `{ users(filter: {name: {eq: "0123456789a"}}) { nodes { id } } }`, "BAD_USER_INPUT", 0},
	"max-tokens":     {"5", `{ a: __typename }`, `{ a: __typename # and no more` + "\n}", "GRAPHQL_PARSE_FAILED", 0},
	"max-aliases":    {"2", `{ a: __typename b: __typename }`, `{ a: __typename b: __typename c: __typename }`, "GRAPHQL_VALIDATION_FAILED", 0},
	"max-roots":      {"2", `{ __typename a: __typename }`, `{ __typename a: __typename b: __typename }`, "GRAPHQL_VALIDATION_FAILED", 0},
	"max-body":       {"64", `{ __typename }` + strings.Repeat(" ", 64-len(`{"query":"{ __typename }"}`)), `{ __typename }` + strings.Repeat(" ", 65-len(`{"query":"{ __typename }"}`)), "PAYLOAD_TOO_LARGE", 0},
}

// callerLimits are limits of what a caller does in time: how often an operation
// that costs 5 passes.
var callerLimits = map[string]struct {
	set    string
	passes int
	roles  schema.Roles
}{
	"rate-anonymous": {"3/1000", 3, 0},
	"rate-user":      {"0/20", 4, schema.User},
	"rate-service":   {"5", 5, schema.Service},
}

// otherLimits are those with a test function of their own.
var otherLimits = map[string]func(*testing.T){
	"max-time":            limitOfTime,
	"max-sockets":         limitOfSockets,
	"max-sockets-address": limitOfAddresses,
	"max-connections":     limitOfConnections,
	"max-requests":        limitOfRequests,
	"max-messages":        limitOfMessages,
	"init-timeout":        limitOfInitialising,
	"max-connection-age":  limitOfAge,
	"max-snapshot":        limitOfSnapshots,
	"max-operations":      limitOfOperations,
	"max-queue":           limitOfQueues,
	"rate-passwords":      limitOfPasswords,
	"soap-max-envelope":   limitOfEnvelopes,
	"jobs-unfinished":     limitOfJobs,
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for name, l := range requestLimits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "--"+name, l.set)
			var headers []string
			if l.roles != 0 {
				headers = append(headers, tokenOf(t, "ada", l.roles))
			}
			if resp, body := s.post(t, request(l.within), headers...); resp.StatusCode != http.StatusOK || strings.Contains(body, `"errors"`) {
				t.Errorf("within it: %d %s", resp.StatusCode, body)
			}
			if _, body := s.post(t, request(l.beyond), headers...); !strings.Contains(body, `"code":"`+l.code+`"`) {
				t.Errorf("beyond it: %s", body)
			}
		})
	}
	for name, l := range callerLimits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "--"+name, l.set)
			var headers []string
			if l.roles != 0 {
				headers = append(headers, tokenOf(t, "ada", l.roles))
			}
			for n := range l.passes + 1 {
				resp, body := s.post(t, request(`{ users(first: 4) { nodes { id } } }`), headers...)
				limited := resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != ""
				if want := n == l.passes; limited != want {
					t.Errorf("request %d: %d %s", n+1, resp.StatusCode, body)
				}
			}
		})
	}
	for name, test := range otherLimits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// Each limit that has a setting is in the documentation and in the table above.
func TestEveryLimitIsDocumentedAndHasATest(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	if _, err := boot.ReadConfig("api", []string{"--help"}, nil, printer(&help)); !errors.Is(err, boot.ErrHelp) {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`--((?:soap-max|max|cost|rate|init)-[a-z-]+|jobs-unfinished)`).FindAllStringSubmatch(help.String(), -1)
	if len(all) < len(requestLimits) {
		t.Fatalf("found %v in the help", all)
	}
	for _, m := range all {
		_, ofRequest := requestLimits[m[1]]
		_, ofCaller := callerLimits[m[1]]
		if !ofRequest && !ofCaller && otherLimits[m[1]] == nil {
			t.Errorf("--%s has no test", m[1])
		}
		if !strings.Contains(string(text), "`--"+m[1]+"`") {
			t.Errorf("--%s is not in docs/limits.md", m[1])
		}
	}
}

func request(document string) string { return fmt.Sprintf(`{"query":%q}`, document) }

// A service that never answers holds an operation up for as long as it may, and
// so does a slow statement; both are left then.
func limitOfTime(t *testing.T) {
	server := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	asked := make(chan struct{}, 1)
	go func() {
		_ = server.Hear(t.Context(), "silent", nil, func(bus.Message) { asked <- struct{}{} }, nil) // it ends with the test
	}()
	dir := t.TempDir()
	const contract = `type Query { silent: String @busRequest(subject: "silent") @auth(requires: [ANYONE]) loud: String @busRequest(subject: "loud") @auth(requires: [ANYONE]) }`
	if err := os.WriteFile(filepath.Join(dir, "schema.graphql"), []byte(contract), 0o600); err != nil {
		t.Fatal(err)
	}
	s := pod(t, server.URL(), "--schema", dir, "--max-time", "300ms")
	start := time.Now()
	_, body := s.post(t, request(`{ silent __typename }`))
	if took := time.Since(start); took < 300*time.Millisecond || took > 4*time.Second {
		t.Errorf("it took %v", took) // a call of its own would wait for 5 s
	}
	if !strings.Contains(body, `"silent":null,"__typename":"Query"`) || !strings.Contains(body, `"code":"TIMEOUT"`) {
		t.Error(body)
	}
	<-asked
	if _, body := s.post(t, request(`{ __typename }`)); strings.Contains(body, "TIMEOUT") {
		t.Errorf("within it: %s", body)
	}
}

// wire is a client of graphql-transport-ws.
type wire struct {
	t *testing.T
	*websocket.Conn
}

func (s *service) dial(t *testing.T, headers http.Header) wire {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: 20 * time.Second}
	ws, _, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/graphql", headers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return wire{t, ws}
}

func (w wire) send(message string) {
	w.t.Helper()
	if err := w.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		w.t.Fatal(err)
	}
}

// expect reads one message, which holds a text.
func (w wire) expect(text string) {
	w.t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, data, err := w.ReadMessage(); err != nil || !strings.Contains(string(data), text) {
		w.t.Fatalf("got %.300s %v, want %s", data, err, text)
	}
}

// expectClose reads up to the close frame.
func (w wire) expectClose(code int) {
	w.t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		_, _, err := w.ReadMessage()
		if err == nil {
			continue
		}
		if e, ok := errors.AsType[*websocket.CloseError](err); !ok || e.Code != code {
			w.t.Fatalf("got %v, want close %d", err, code)
		}
		return
	}
}

func limitOfSockets(t *testing.T) {
	s := newService(t, "--max-sockets", "2")
	for range 2 {
		w := s.dial(t, nil)
		w.send(`{"type":"connection_init"}`)
		w.expect("connection_ack")
	}
	w := s.dial(t, nil)
	w.send(`{"type":"connection_init"}`)
	w.expectClose(1013)
}

func limitOfOperations(t *testing.T) {
	s := newService(t, "--max-operations", "2")
	w := s.dial(t, nil)
	w.send(`{"type":"connection_init"}`)
	w.expect("connection_ack")
	for id := range 3 {
		w.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"subscription { userChanged { kind } }"}}`, id))
	}
	w.expect(`{"id":"2","type":"error","payload":[{"message":"a connection runs at most 2 operations; complete one first"`)
	w.send(`{"id":"0","type":"complete"}`)
	w.send(`{"id":"3","type":"subscribe","payload":{"query":"{ __typename }"}}`)
	w.expect(`{"id":"3","type":"next"`)
}

// What waits for a client that asks for 24 MB and reads nothing meanwhile: more
// than a small queue takes beside the buffers of the network, and less than a
// large one.
func limitOfQueues(t *testing.T) {
	const asked = 60
	for set, closed := range map[string]bool{"2000": true, "200000000": false} {
		s := newService(t, "--max-queue", set, "--rate-anonymous", "0")
		_, body := s.post(t, request(`mutation { createPost(input: {title: "T", body: "`+strings.Repeat("x", 20_000)+`"}) { id } }`), tokenOf(t, "ada", schema.User))
		id := find(t, body, `"id":"([^"]+)"`)
		var large strings.Builder
		for n := range 20 {
			fmt.Fprintf(&large, "a%d: post(id: %q) { body } ", n, id)
		}
		w := s.dial(t, nil)
		w.send(`{"type":"connection_init"}`)
		w.expect("connection_ack")
		for n := range asked {
			w.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":%s}`, n, request("{ "+large.String()+"}")))
		}
		if closed {
			s.until(t, "the queue is full", func() bool { return s.edge.hub.Stats().Overflowed > 0 })
			w.expectClose(1013)
			continue
		}
		for range asked {
			w.expectIn(`"type":"complete"`)
		}
	}
}

// handshake asks for a WebSocket and returns the status and Retry-After.
func (s *service) handshake(t *testing.T, from string) (int, string) {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	ws, resp, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/graphql", http.Header{"X-Forwarded-For": {from}})
	if resp == nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Cleanup(func() { ws.Close() })
	}
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

func limitOfAddresses(t *testing.T) {
	// The sockets say nothing: that must not end them before the test does.
	s := newService(t, "--max-sockets-address", "2", "--trusted-proxies", "127.0.0.0/8,::1", "--init-timeout", "5m")
	first := s.dial(t, http.Header{"X-Forwarded-For": {"192.0.2.1"}})
	if status, _ := s.handshake(t, "192.0.2.1"); status != http.StatusSwitchingProtocols {
		t.Errorf("a second: %d", status)
	}
	s.until(t, "both count", func() bool { return s.edge.hub.Stats().Sockets == 2 }) // a moment after their answers
	if status, after := s.handshake(t, "192.0.2.1"); status != http.StatusTooManyRequests || after == "" {
		t.Errorf("a third: %d, Retry-After %q", status, after)
	}
	for _, method := range []string{"POST", "GET"} {
		resp, _ := s.call(t, method, "/graphql?query=%7B__typename%7D", request(`{ __typename }`), "Accept: text/event-stream", "X-Forwarded-For: 192.0.2.1")
		if resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("an event stream by %s: %d", method, resp.StatusCode)
		}
	}
	if status, _ := s.handshake(t, "192.0.2.2"); status != http.StatusSwitchingProtocols {
		t.Errorf("from elsewhere: %d", status)
	}
	first.Close()
	s.until(t, "there is room again", func() bool {
		status, _ := s.handshake(t, "192.0.2.1")
		return status == http.StatusSwitchingProtocols
	})
}

// until waits for a condition.
func (s *service) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("it never happened that %s", what)
		}
	}
}

func limitOfConnections(t *testing.T) {
	const most = 20 // a tenth of them are two
	s := newService(t, "--max-connections", fmt.Sprint(most))
	var open []wire
	for range most {
		if err := s.edge.ready(); err != nil {
			t.Fatalf("with %d of %d: %v", len(open), most, err)
		}
		open = append(open, s.dial(t, nil))
	}
	s.until(t, "the last has entered", func() bool { return s.edge.ready() != nil })
	s.dial(t, nil).expectClose(1013)
	if resp, _ := s.call(t, "POST", "/graphql", request(`{ __typename }`), "Accept: text/event-stream"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("an event stream by POST: %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	resp, body := s.call(t, "GET", "/graphql?query=%7B__typename%7D", "", "Accept: text/event-stream")
	if resp.StatusCode != 200 || !strings.HasPrefix(body, "retry: 1") {
		t.Errorf("an event stream: %d %q", resp.StatusCode, body)
	}
	if resp, _ := s.post(t, anything); resp.StatusCode != 200 {
		t.Errorf("a query: %d", resp.StatusCode)
	}
	open[0].Close()
	s.until(t, "a place is free", func() bool { return s.edge.hub.Stats().Sockets == most-1 })
	if s.edge.ready() == nil {
		t.Error("it is ready as soon as one has gone")
	}
	open[1].Close()
	s.until(t, "it is ready again", func() bool { return s.edge.ready() == nil })
}

func limitOfMessages(t *testing.T) {
	const messages = 100
	took := func(set string) time.Duration {
		w := newService(t, "--max-messages", set).dial(t, nil)
		start := time.Now()
		for range messages {
			w.send(`{"type":"ping"}`)
		}
		for range messages {
			w.expect("pong")
		}
		return time.Since(start)
	}
	// 40 at once, 60 at 20 a second.
	if slow := took("20"); slow < 2500*time.Millisecond {
		t.Errorf("%d messages took %v", messages, slow)
	}
	took("-1")
}

// A subscription begins with as many records as it may, or ends.
func limitOfSnapshots(t *testing.T) {
	s := newService(t, "--max-snapshot", "2")
	for n, ends := range []string{"", "", "COST_LIMIT_EXCEEDED"} {
		user := fmt.Sprintf(`mutation { createUser(input: {id: "u%d", name: "U", email: "u%d@example.com"}) { id } }`, n, n)
		if _, body := s.post(t, request(user), tokenOf(t, "root", schema.Admin|schema.User)); strings.Contains(body, `"errors"`) {
			t.Fatal(body)
		}
		w := s.dial(t, nil)
		w.send(`{"type":"connection_init"}`)
		w.expect("connection_ack")
		w.send(`{"id":"1","type":"subscribe","payload":` + request(`subscription { userChanged(snapshot: true) { kind } }`) + `}`)
		for range n + 1 {
			if ends == "" {
				w.expect("SNAPSHOT")
			}
		}
		if ends != "" {
			w.expectIn(ends)
		}
	}
}

// expectIn reads up to a message that holds a text.
func (w wire) expectIn(text string) {
	w.t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		_, data, err := w.ReadMessage()
		if err != nil {
			w.t.Fatalf("waiting for %s: %v", text, err)
		}
		if strings.Contains(string(data), text) {
			return
		}
	}
}

func limitOfInitialising(t *testing.T) {
	newService(t, "--init-timeout", "50ms").dial(t, nil).expectClose(4408)
}

func limitOfAge(t *testing.T) {
	newService(t, "--max-connection-age", "1s").dial(t, nil).expectClose(1012)
}

func TestALargeMessageClosesItsSocket(t *testing.T) {
	t.Parallel()
	w := newService(t, "--max-body", "64").dial(t, nil)
	const ping = `{"type":"ping"}`
	w.send(ping + strings.Repeat(" ", 64-len(ping)))
	w.expect("pong")
	w.send(ping + strings.Repeat(" ", 65-len(ping)))
	w.expectClose(1009)
}

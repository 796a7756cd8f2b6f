package main

import (
	"errors"
	"fmt"
	"io"
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
	"max-time":       limitOfTime,
	"max-sockets":    limitOfSockets,
	"max-operations": limitOfOperations,
	"max-queue":      limitOfQueues,
	"rate-passwords": limitOfPasswords,
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
	if err := run(t.Context(), []string{"--help"}, nil, &help, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`--((?:max|cost|rate)-[a-z-]+)`).FindAllStringSubmatch(help.String(), -1)
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

// What waits for a client that reads nothing: more than a small queue takes, and
// less than a large one.
func limitOfQueues(t *testing.T) {
	for set, closed := range map[string]bool{"2000": true, "200000000": false} {
		s := newService(t, "--max-queue", set)
		w := s.dial(t, nil)
		w.send(`{"type":"connection_init"}`)
		w.expect("connection_ack")
		ping := `{"type":"ping","payload":{"a":"` + strings.Repeat("x", 500_000) + `"}}`
		for range 40 {
			if err := w.WriteMessage(websocket.TextMessage, []byte(ping)); err != nil {
				break // it is closed already
			}
		}
		if closed {
			w.expectClose(1013)
			continue
		}
		for range 40 {
			w.expect(`"pong"`)
		}
	}
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

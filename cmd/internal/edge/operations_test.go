package edge

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/auth"
	"tidings/cmd/internal/boot"
	"tidings/schema"
)

const typename = `{ __typename }`

func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// operations is a directory of persisted operations.
func operations(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"typename.graphql": typename,
		"created.graphql":  `mutation { createUser(input: {id: "ann", name: "Ann", email: "ann@example.com"}) { id } }`,
		"watch.graphql":    `subscription { count(target: 2) }`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func bearer(t *testing.T, subject string) string {
	t.Helper()
	token, err := auth.Sign([]byte(secret), auth.Principal{Subject: subject, Roles: schema.User}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return "Authorization: Bearer " + token
}

// post sends a body, with lines of headers.
func (s *service) post(t *testing.T, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	return s.call(t, http.MethodPost, "/graphql", body, headers...)
}

// subscribe sends one operation over a WebSocket and returns the types and
// payloads of what comes, up to its end.
func (s *service) subscribe(t *testing.T, payload string) string {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	ws, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, m := range []string{`{"type":"connection_init"}`, `{"id":"1","type":"subscribe","payload":` + payload + `}`} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for {
		var m struct {
			Type    string
			Payload json.RawMessage
		}
		if err := ws.ReadJSON(&m); err != nil {
			return all.String() + err.Error()
		}
		if m.Type == "connection_ack" {
			continue
		}
		fmt.Fprintf(&all, "%s %s\n", m.Type, m.Payload)
		if m.Type != "next" {
			return all.String()
		}
	}
}

func TestPersistedOperationsOverEveryTransport(t *testing.T) {
	t.Parallel()
	s := newService(t, "--operations", operations(t))
	const data = `{"data":{"__typename":"Query"}}`
	unknown := fmt.Sprintf(`{"extensions":{"persistedQuery":{"version":1,"sha256Hash":%q}}}`, hashOf("unknown"))
	for name, payload := range map[string]string{
		"queryId":    `{"queryId":"sha256:` + hashOf(typename) + `"}`,
		"documentId": `{"documentId":"typename"}`,
		"Apollo":     fmt.Sprintf(`{"extensions":{"persistedQuery":{"version":1,"sha256Hash":%q}}}`, hashOf(typename)),
	} {
		if _, body := s.post(t, payload); body != data {
			t.Errorf("%s by POST: %s", name, body)
		}
		var members map[string]any
		if err := json.Unmarshal([]byte(payload), &members); err != nil {
			t.Fatal(err)
		}
		params := url.Values{}
		for k, v := range members {
			text, ok := v.(string)
			if !ok {
				raw, _ := json.Marshal(v)
				text = string(raw)
			}
			params.Set(k, text)
		}
		if _, body := s.call(t, http.MethodGet, "/graphql?"+params.Encode(), ""); body != data {
			t.Errorf("%s by GET: %s", name, body)
		}
		if _, body := s.call(t, http.MethodGet, "/graphql?"+params.Encode(), "", "Accept: text/event-stream"); !strings.Contains(body, data) {
			t.Errorf("%s by an event stream: %s", name, body)
		}
		if got := s.subscribe(t, payload); got != "next "+data+"\ncomplete \n" {
			t.Errorf("%s over a WebSocket: %s", name, got)
		}
	}
	if got := s.subscribe(t, `{"documentId":"watch"}`); !strings.HasPrefix(got, `next {"data":{"count":1}}`) || !strings.HasSuffix(got, "complete \n") {
		t.Errorf("a subscription: %s", got)
	}
	if _, body := s.post(t, `{"documentId":"watch"}`, "Accept: text/event-stream"); !strings.Contains(body, `{"data":{"count":2}}`) {
		t.Errorf("a subscription by an event stream: %s", body)
	}
	const missing = `"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}`
	if resp, body := s.post(t, unknown); !strings.Contains(body, missing) || resp.StatusCode != http.StatusOK {
		t.Errorf("unknown: %d %s", resp.StatusCode, body)
	}
	if got := s.subscribe(t, unknown); !strings.HasPrefix(got, "error [") || !strings.Contains(got, missing) {
		t.Errorf("unknown over a WebSocket: %s", got)
	}
	if _, body := s.post(t, unknown, "Accept: text/event-stream"); !strings.Contains(body, missing) {
		t.Errorf("unknown by an event stream: %s", body)
	}
	if got := s.subscribe(t, `{"extensions":{}}`); !strings.Contains(got, "4400") {
		t.Errorf("no document at all: %s", got)
	}
}

func TestPersistedOnlyLeavesSOAPAlone(t *testing.T) {
	t.Parallel()
	s := newService(t, "--operations", operations(t), "--persisted-only", "--trust-transport")
	const refused = `"code":"FORBIDDEN"`
	other := `{"query":"{ a: __typename }"}`
	if _, body := s.post(t, other); !strings.Contains(body, refused) {
		t.Error(body)
	}
	if got := s.subscribe(t, other); !strings.Contains(got, refused) {
		t.Error(got)
	}
	if _, body := s.post(t, other, "Accept: text/event-stream"); !strings.Contains(body, refused) {
		t.Error(body)
	}
	if _, body := s.post(t, `{"documentId":"typename"}`); !strings.Contains(body, `"Query"`) {
		t.Error(body)
	}
	envelope := `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><t:GetUser xmlns:t="` + s.edge.namespace + `"><t:id>nobody</t:id></t:GetUser></soap:Body></soap:Envelope>`
	_, body := s.call(t, http.MethodPost, "/v1/SocialService", envelope, "Content-Type: text/xml")
	if strings.Contains(body, "persisted") {
		t.Error(body)
	}
}

func TestAMutationByTheWholeService(t *testing.T) {
	t.Parallel()
	s := newService(t, "--operations", operations(t))
	token := bearer(t, "ann")
	body := `{"documentId":"created"}`
	first, text := s.post(t, body, token, `Idempotency-Key: "7a0e"`)
	again, same := s.post(t, body, token, `Idempotency-Key: "7a0e"`)
	if text != `{"data":{"createUser":{"id":"ann"}}}` || same != text || again.Header.Get("Idempotency-Replayed") != "true" || first.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("first %s, again %s %v", text, same, again.Header)
	}
	at := first.Header.Get("Tidings-Position")
	if at == "" || at != again.Header.Get("Tidings-Position") {
		t.Errorf("positions %q and %q", at, again.Header.Get("Tidings-Position"))
	}
	if _, body := s.post(t, `{"query":"{ user(id: \"ann\") { name } }"}`, "Tidings-Position: "+at); !strings.Contains(body, "Ann") {
		t.Error(body)
	}
	if got := s.subscribe(t, `{"query":"{ user(id: \"ann\") { name } }","extensions":{"position":"`+at+`"}}`); !strings.Contains(got, `"Ann"}},"extensions":{"position":"`) {
		t.Error(got)
	}
	if _, body := s.post(t, `{"documentId":"created"}`, token, `Idempotency-Key: "7a0e"`, "Accept: text/event-stream"); !strings.Contains(body, text) {
		t.Errorf("by an event stream: %s", body)
	}
}

func TestOperationsThatDoNotFitAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.graphql"), []byte(`{ nobodyKnows }`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"bad.graphql":        {"--operations", dir},
		"TIDINGS_OPERATIONS": {"--persisted-only", "--operations", t.TempDir()},
		"does-not-exist":     {"--operations", "does-not-exist"},
	} {
		base := []string{"--schema", "../../../examples/social", "--data", t.TempDir()}
		c, err := boot.ReadConfig("api", append(base, args...), []string{"TIDINGS_JWT_SECRET=" + secret}, printer(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		rooms, err := boot.Open(t.Context(), c, boot.Role{Edge: true}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
		if rooms != nil {
			_ = rooms.Close() // it should not be
		}
	}
}

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/client"
)

// script is a service that says to each connection what the test wants: one entry a
// connection, the last one for all that follow. What was asked is noted.
type script struct {
	*httptest.Server
	mu      sync.Mutex
	entries []string
	asked   []map[string]any // payloads of subscribe, or bodies
	tokens  []string
}

// plays starts a script. An entry is a list of words: "ack", "next:<cursor>",
// "ping:<cursor>", "error:<code>", "complete", "close:<code>", "cut", and for
// streams "status:<code>" and "id:<cursor>".
func plays(t *testing.T, entries ...string) *script {
	t.Helper()
	s := &script{entries: entries}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		words := strings.Fields(s.entries[0])
		if len(s.entries) > 1 {
			s.entries = s.entries[1:]
		}
		s.mu.Unlock()
		if websocket.IsWebSocketUpgrade(r) && !strings.HasPrefix(words[0], "status:") {
			s.socket(t, w, r, words)
			return
		}
		s.stream(w, r, words)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *script) note(token string, payload []byte) {
	var p map[string]any
	_ = json.Unmarshal(payload, &p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens, s.asked = append(s.tokens, token), append(s.asked, p)
}

func payloadOf(cursor string) string {
	return fmt.Sprintf(`{"data":{"n":%q},"extensions":{"cursor":%q}}`, cursor, cursor)
}

func (s *script) socket(t *testing.T, w http.ResponseWriter, r *http.Request, words []string) {
	u := websocket.Upgrader{Subprotocols: []string{"graphql-transport-ws"}}
	c, err := u.Upgrade(w, r, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	var init struct {
		Payload struct {
			AuthToken string
			Cursors   bool
		}
	}
	if c.ReadJSON(&init) != nil || !init.Payload.Cursors {
		t.Error("the client does not ask for cursors")
		return
	}
	say := func(text string) { _ = c.WriteMessage(websocket.TextMessage, []byte(text)) }
	for _, word := range words {
		name, value, _ := strings.Cut(word, ":")
		switch name {
		case "ack":
			say(`{"type":"connection_ack"}`)
			var m struct{ Payload json.RawMessage }
			if c.ReadJSON(&m) != nil {
				return
			}
			s.note(init.Payload.AuthToken, m.Payload)
		case "next":
			say(`{"id":"1","type":"next","payload":` + payloadOf(value) + `}`)
		case "ping":
			say(`{"type":"ping","payload":{"cursors":{"1":"` + value + `"}}}`)
		case "error":
			say(`{"id":"1","type":"error","payload":[{"message":"so it is","extensions":{"code":"` + value + `"}}]}`)
		case "complete":
			say(`{"id":"1","type":"complete"}`)
		case "close":
			var code int
			fmt.Sscan(value, &code)
			_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, "of the test"))
		case "cut":
			return
		}
	}
	_, _, _ = c.ReadMessage() // until the client has gone
}

func (s *script) stream(w http.ResponseWriter, r *http.Request, words []string) {
	body, _ := io.ReadAll(r.Body)
	s.note(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), body)
	if code, ok := strings.CutPrefix(words[0], "status:"); ok {
		var status int
		fmt.Sscan(code, &status)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "of the test", status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range words {
		switch name, value, _ := strings.Cut(word, ":"); name {
		case "next":
			fmt.Fprintf(w, "event: next\nid: %s\ndata: %s\n\n", value, payloadOf(value))
		case "ping":
			fmt.Fprintf(w, "id: %s\n\n", value)
		case "error":
			fmt.Fprintf(w, "event: next\ndata: {\"errors\":[{\"message\":\"so it is\",\"extensions\":{\"code\":%q}}]}\n\n", value)
		case "close":
			fmt.Fprintf(w, ": %s the token has expired\n\n", value)
		case "complete":
			fmt.Fprint(w, "event: complete\ndata:\n\n")
		case "hold":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
}

// watched is what came of a Watch.
type watched struct {
	cursors []string
	notices []client.Notice
	err     error
}

func watch(t *testing.T, s *script, w client.Watch, token func() (string, error)) (got watched) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w.Query = "subscription { n }"
	w.Tell = func(n client.Notice) { got.notices = append(got.notices, n) }
	c := client.Service{URL: s.URL + "/graphql", Token: token}
	got.err = c.Watch(ctx, w, func(e client.Event) error {
		got.cursors = append(got.cursors, e.Cursor)
		return nil
	})
	return got
}

// went is what the connections went on after.
func (s *script) went() (cursors []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.asked {
		e, _ := p["extensions"].(map[string]any)
		c, _ := e["cursor"].(string)
		cursors = append(cursors, c)
	}
	return cursors
}

// Whatever ends a connection, the next one goes on after what was seen, be it an
// event or a heartbeat.
func TestALossIsFollowedByAConnectionThatGoesOn(t *testing.T) {
	t.Parallel()
	for transport, entries := range map[client.Transport][]string{
		client.WebSocket: {"ack next:1 next:2 close:1012", "close:1013", "ack cut", "status:503", "ack ping:5 cut", "ack next:6 error:UNAVAILABLE", "ack complete"},
		client.SSE:       {"next:1 next:2", "status:429", "ping:2", "status:503", "ping:5", "next:6 error:UNAVAILABLE", "complete"},
	} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			s := plays(t, entries...)
			got := watch(t, s, client.Watch{After: "0", Transport: transport}, nil)
			if got.err != nil || !slices.Equal(got.cursors, []string{"1", "2", "6"}) {
				t.Errorf("saw %v, %v", got.cursors, got.err)
			}
			asked := slices.DeleteFunc(s.went(), func(c string) bool { return c == "" }) // but what was refused before it was read
			if went := slices.Compact(asked); !slices.Equal(went, []string{"0", "2", "5", "6"}) {
				t.Errorf("went on after %v", went)
			}
			for _, n := range got.notices {
				if !n.Connected && (n.Lost == "" || n.Again <= 0 || n.Again > time.Minute) {
					t.Errorf("%+v", n)
				}
			}
		})
	}
}

func TestWhatWouldEndInTheSameWayIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ socket, stream, code string }{
		{"ack error:CURSOR_EXPIRED", "error:CURSOR_EXPIRED", "CURSOR_EXPIRED"},
		{"ack error:BAD_USER_INPUT", "error:BAD_USER_INPUT", "BAD_USER_INPUT"},
		{"close:4403", "status:401", "4403"},
		{"ack close:4403", "ping:1 close:4403", "4403"}, // the token has ended, and there is no other
		{"close:4401", "status:404", ""},
		{"close:4400", "status:415", ""},
	} {
		for transport, entry := range map[client.Transport]string{client.WebSocket: c.socket, client.SSE: c.stream} {
			got := watch(t, plays(t, entry), client.Watch{Transport: transport}, func() (string, error) { return "same", nil })
			refused, ok := errors.AsType[*client.Refusal](got.err)
			if !ok || c.code != "" && refused.Code != c.code {
				t.Errorf("%s %s: %v", transport, entry, got.err)
			}
		}
	}
}

// A token that has ended is exchanged for the next one.
func TestAnotherTokenIsFetchedWhenOneHasEnded(t *testing.T) {
	t.Parallel()
	for transport, first := range map[client.Transport]string{client.WebSocket: "ack next:1 close:4403", client.SSE: "next:1 close:4403"} {
		s := plays(t, first, "ack next:2 complete")
		asked := 0
		got := watch(t, s, client.Watch{Transport: transport}, func() (string, error) { asked++; return fmt.Sprint("token ", min(asked, 2)), nil })
		if got.err != nil || !slices.Equal(got.cursors, []string{"1", "2"}) || !slices.Equal(s.tokens, []string{"token 1", "token 2"}) {
			t.Errorf("%s: %v %v, with %v", transport, got.cursors, got.err, s.tokens)
		}
	}
}

func TestEventsComeByAStreamWhereNoSocketIsLetThrough(t *testing.T) {
	t.Parallel()
	s := plays(t, "status:400", "next:1 complete")
	got := watch(t, s, client.Watch{}, nil)
	if got.err != nil || !slices.Equal(got.cursors, []string{"1"}) {
		t.Errorf("%v %v", got.cursors, got.err)
	}
	if got := watch(t, plays(t, "status:400"), client.Watch{Transport: client.WebSocket}, nil); got.err == nil {
		t.Error("a socket that is wanted is given up")
	}
}

func TestAWatchEndsWithItsContextAndWithItsFunction(t *testing.T) {
	t.Parallel()
	for transport, entry := range map[client.Transport]string{client.WebSocket: "ack next:1", client.SSE: "next:1 hold"} {
		s := plays(t, entry)
		c := client.Service{URL: s.URL}
		w := client.Watch{Operation: client.Operation{Query: "subscription { n }"}, Transport: transport}
		ctx, cancel := context.WithCancel(t.Context())
		if err := c.Watch(ctx, w, func(client.Event) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", transport, err)
		}
		enough := errors.New("enough")
		if err := c.Watch(t.Context(), w, func(client.Event) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s: %v", transport, err)
		}
	}
}

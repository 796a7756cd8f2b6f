//go:build kubernetes

package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// service is where clients find the api, and the secret that signs their tokens.
type service struct {
	url    string // http://address:port
	secret string
}

// token is that of a user who is told apart from all others by name.
func (s service) token(name string) string {
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"exp":%d}`, name, time.Now().Add(12*time.Hour).Unix())
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(claims))
	sign := hmac.New(sha256.New, []byte(s.secret))
	sign.Write([]byte(text))
	return text + "." + encode(sign.Sum(nil))
}

// call is one GraphQL request.
type call struct {
	Query      string         `json:"query"`
	Variables  map[string]any `json:"variables,omitempty"`
	Extensions map[string]any `json:"extensions,omitempty"`
}

// result is a GraphQL response, or what an event brought.
type result struct {
	Data       json.RawMessage `json:"data"`
	Errors     []refusal       `json:"errors"`
	Extensions struct {
		Cursor string `json:"cursor"`
	} `json:"extensions"`
}

// refusal is an error of a response.
type refusal struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

func (r refusal) Error() string { return r.Extensions.Code + ": " + r.Message }

// post sends one request. key is its idempotency key; empty: none.
func post(ctx context.Context, client *http.Client, url, token, key string, c call) (result, error) {
	var r result
	body, err := json.Marshal(c)
	if err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		req.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	resp, err := client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("status %d", resp.StatusCode)
	}
	if len(r.Errors) > 0 {
		return r, r.Errors[0]
	}
	return r, nil
}

// stream is a subscription over one connection. Its position also moves when
// nothing comes: heartbeats tell it.
type stream interface {
	// next waits for the next event; an error means that the connection is over.
	next() (result, error)
	// cursor is the newest position that was told.
	cursor() string
	close()
}

// answers is how long a server may take for a first answer.
const answers = 10 * time.Second

// socket is a subscription over graphql-transport-ws, as npm's graphql-ws with
// web/resume.js has it.
type socket struct {
	ws   *websocket.Conn
	at   string
	beat func()
}

type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func dialSocket(ctx context.Context, url, token, cursor string, c call, beat func()) (stream, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: answers}
	ws, resp, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(url, "http")+"/graphql", nil)
	if err != nil {
		if resp != nil {
			err = fmt.Errorf("handshake: status %d", resp.StatusCode)
		}
		return nil, err
	}
	s := &socket{ws: ws, at: cursor, beat: beat}
	ws.SetPingHandler(func(text string) error {
		beat()
		return ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(answers))
	})
	if cursor != "" {
		c.Extensions = map[string]any{"cursor": cursor}
	}
	_ = ws.SetReadDeadline(time.Now().Add(answers))
	err = s.send("connection_init", "", map[string]any{"authToken": token, "cursors": true})
	var m message
	for err == nil && m.Type != "connection_ack" {
		err = ws.ReadJSON(&m)
	}
	if err == nil {
		err = s.send("subscribe", "1", c)
	}
	if err != nil {
		ws.Close()
		return nil, err
	}
	_ = ws.SetReadDeadline(time.Time{})
	return s, nil
}

func (s *socket) send(typ, id string, payload any) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return s.ws.WriteJSON(message{ID: id, Type: typ, Payload: text})
}

func (s *socket) next() (result, error) {
	for {
		var m message
		if err := s.ws.ReadJSON(&m); err != nil {
			return result{}, err
		}
		s.beat()
		switch m.Type {
		case "next":
			var r result
			err := json.Unmarshal(m.Payload, &r)
			if r.Extensions.Cursor != "" {
				s.at = r.Extensions.Cursor
			}
			return r, err
		case "error":
			var list []refusal
			if err := json.Unmarshal(m.Payload, &list); err != nil || len(list) == 0 {
				return result{}, fmt.Errorf("error without errors: %s", m.Payload)
			}
			return result{}, list[0]
		case "ping":
			var told struct {
				Cursors map[string]string `json:"cursors"`
			}
			_ = json.Unmarshal(m.Payload, &told) // pings need not have a payload
			if at := told.Cursors["1"]; at != "" {
				s.at = at
			}
			if err := s.ws.WriteJSON(message{Type: "pong"}); err != nil {
				return result{}, err
			}
		case "complete":
			return result{}, fmt.Errorf("a change subscription was completed")
		}
	}
}

func (s *socket) cursor() string { return s.at }
func (s *socket) close()         { s.ws.Close() }

// events is a subscription over server-sent events, as npm's graphql-sse with
// web/resume.js has it.
type events struct {
	body   io.Closer
	lines  *bufio.Reader
	cancel context.CancelFunc
	at     string
	beat   func()
}

func dialEvents(ctx context.Context, url, token, cursor string, c call, beat func()) (stream, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/graphql", bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	if cursor != "" {
		req.Header.Set("Last-Event-ID", cursor)
	}
	resp, err := streaming.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("event stream: status %d", resp.StatusCode)
	}
	return &events{body: resp.Body, lines: bufio.NewReader(resp.Body), cancel: cancel, at: cursor, beat: beat}, nil
}

// streaming has no limit of time but for the first answer, and a connection for
// each stream.
var streaming = &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: answers, DisableKeepAlives: true}}

func (s *events) next() (result, error) {
	var kind, id, data string
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return result{}, err
		}
		s.beat()
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n":
			if id != "" {
				s.at = id
			}
			if kind == "next" {
				var r result
				return r, json.Unmarshal([]byte(data), &r)
			}
			kind, id, data = "", "", ""
		case name == "event":
			kind = value
		case name == "id":
			id = value
		case name == "data":
			data += value
		}
	}
}

func (s *events) cursor() string { return s.at }
func (s *events) close()         { s.cancel(); s.body.Close() }

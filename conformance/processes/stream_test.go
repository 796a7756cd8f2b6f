//go:build conformance

package processes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// stream is a subscription over one connection.
type stream interface {
	// next waits for the next result. io.EOF: the stream has ended in good
	// order and wants its client back; errComplete: the operation has ended.
	next() (result, error)
	close()
}

// errComplete says that the server has completed the operation. No change
// subscription ever is.
var errComplete = errors.New("the operation was completed")

// dial opens a subscription over one of the transports.
type dial func(ctx context.Context, base, token string, c call) (stream, error)

// socket is a subscription over graphql-transport-ws.
type socket struct {
	ws   *websocket.Conn
	once sync.Once
	done func() bool
}

// wsMessage is a message of graphql-transport-ws, in both directions.
type wsMessage struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// dialSocket resumes by the extensions of its operation.
func dialSocket(ctx context.Context, base, token string, c call) (stream, error) {
	return openSocket(ctx, base, connectionInit{AuthToken: token}, c)
}

// dialSocketByInit resumes as an unmodified client can: by the payload of
// connection_init, which such clients let their users set.
func dialSocketByInit(ctx context.Context, base, token string, c call) (stream, error) {
	init := connectionInit{AuthToken: token}
	if cursor := c.cursor(); cursor != "" {
		init.Resume = map[string]string{operationID: cursor}
		c.Extensions = nil
	}
	return openSocket(ctx, base, init, c)
}

type connectionInit struct {
	AuthToken string            `json:"authToken,omitempty"`
	Resume    map[string]string `json:"resume,omitempty"`
}

// operationID names the one operation of each socket.
const operationID = "1"

// openSocket sends the subscription after the server has accepted the connection.
func openSocket(ctx context.Context, base string, init connectionInit, c call) (stream, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: 4 * time.Second}
	ws, _, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(base, "http")+"/graphql", nil)
	if err != nil {
		return nil, err
	}
	s := &socket{ws: ws}
	s.done = context.AfterFunc(ctx, func() { ws.Close() })
	if err := s.begin(init, c); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *socket) begin(init connectionInit, c call) error {
	if err := s.send("connection_init", "", init); err != nil {
		return err
	}
	if m, err := s.receive(); err != nil || m.Type != "connection_ack" {
		return fmt.Errorf("no connection_ack but %q: %w", m.Type, err)
	}
	return s.send("subscribe", operationID, c)
}

func (s *socket) send(typ, id string, payload any) error {
	m := wsMessage{ID: id, Type: typ}
	if payload != nil {
		var err error
		if m.Payload, err = json.Marshal(payload); err != nil {
			return err
		}
	}
	return s.ws.WriteJSON(m)
}

func (s *socket) receive() (m wsMessage, err error) {
	err = s.ws.ReadJSON(&m)
	return m, err
}

// stands returns when the server has taken the subscription up.
func (s *socket) stands() error {
	if err := s.send("ping", "", nil); err != nil {
		return err
	}
	m, err := s.receive()
	if err == nil && m.Type != "pong" {
		err = fmt.Errorf("%s instead of a pong: %s", m.Type, m.Payload)
	}
	return err
}

func (s *socket) next() (result, error) {
	for {
		m, err := s.receive()
		if err != nil {
			return result{}, err
		}
		switch m.Type {
		case "next":
			var r result
			return r, json.Unmarshal(m.Payload, &r)
		case "error":
			var list []graphQLError
			if err := json.Unmarshal(m.Payload, &list); err != nil || len(list) == 0 {
				return result{}, fmt.Errorf("error without errors: %s", m.Payload)
			}
			return result{Errors: list}, nil
		case "complete":
			return result{}, errComplete
		case "ping":
			if err := s.send("pong", "", nil); err != nil {
				return result{}, err
			}
		case "pong":
		default:
			return result{}, fmt.Errorf("a server does not send %q", m.Type)
		}
	}
}

func (s *socket) close() { s.once.Do(func() { s.done(); s.ws.Close() }) }

// eventStream is a subscription over Server-Sent Events.
type eventStream struct {
	body    io.Closer
	lines   *bufio.Reader
	cancel  context.CancelFunc
	retries int // how often it was told when to come back
}

// streams has no time limit: its answers go on for ever.
var streams = http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 4 * time.Second}}

// dialEvents posts the operation and resumes by the Last-Event-ID header.
func dialEvents(ctx context.Context, base, token string, c call) (stream, error) {
	cursor := c.cursor()
	c.Extensions = nil
	req, err := graphqlRequest(ctx, base, token, c)
	if err != nil {
		return nil, err
	}
	if cursor != "" {
		req.Header.Set("Last-Event-ID", cursor)
	}
	return openEvents(req)
}

// dialEventSource gets the operation by its URL and resumes by a parameter
// there, as a page does that has stored its cursor and opens a new EventSource.
func dialEventSource(ctx context.Context, base, token string, c call) (stream, error) {
	q := url.Values{"query": {c.Query}}
	if cursor := c.cursor(); cursor != "" {
		q.Set("lastEventId", cursor)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/graphql?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return openEvents(req)
}

func openEvents(req *http.Request) (stream, error) {
	s, err := openEventsBy(&streams, req)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openEventsBy(client *http.Client, req *http.Request) (*eventStream, error) {
	req.Header.Set("Accept", "text/event-stream")
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // for the message
		resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("no event stream: %s %s", resp.Status, body)
	}
	return &eventStream{body: resp.Body, lines: bufio.NewReader(resp.Body), cancel: cancel}, nil
}

// next reads up to the next event.
func (s *eventStream) next() (r result, err error) {
	id, data, err := s.event()
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		return r, err
	}
	if r.Extensions.Cursor != id {
		return r, fmt.Errorf("the event's id is %q, its cursor %q", id, r.Extensions.Cursor)
	}
	return r, nil
}

// event reads up to the next event of the type next, as the HTML standard says;
// the events of this service have one data line each.
func (s *eventStream) event() (id, data string, err error) {
	var event string
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && event == "complete":
			return "", "", errComplete
		case line == "\n" && event == "next":
			return id, data, nil
		case line == "\n":
			event, id, data = "", "", ""
		case name == "event":
			event = value
		case name == "id":
			id = value
		case name == "data":
			data += value
		case name == "retry":
			s.retries++
		}
	}
}

func (s *eventStream) close() { s.cancel(); s.body.Close() }

// Package live lets the subscriptions of github.com/Khan/genqlient go on where they
// were when their connection ends: copy this file.
package live

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/gorilla/websocket"
)

// Dialer is given to graphql.NewClientUsingWebSocket. When a connection ends it
// makes another, as long as the context that the client's Start was given: each
// subscription is repeated with the cursor of the last result that came, so that none
// is missed and none comes twice. When the context ends, or a connection is refused
// for good (its token counts no more, for example), Start's channel of errors says so.
// A subscription is over with a result that has errors, or that has nothing. The zero
// value can be used.
//
// Take results until that channel has told an error, and do not call the client's
// Close: genqlient 0.8.1 waits for ever, or panics, when something comes meanwhile.
type Dialer struct {
	websocket.Dialer
	Pause time.Duration // between attempts; 0: a second
}

// silence is how long a connection may say nothing: the service pings every 20 s.
const silence = 50 * time.Second

// DialContext opens a connection, and others after it until the context ends.
func (d *Dialer) DialContext(ctx context.Context, url string, header http.Header) (graphql.WSConn, error) {
	c := &conn{ctx: ctx, pause: d.Pause, running: map[string]json.RawMessage{}}
	if c.pause == 0 {
		c.pause = time.Second
	}
	c.dial = func() (*websocket.Conn, error) {
		ws, _, err := d.Dialer.DialContext(ctx, url, header)
		if err != nil {
			return nil, err
		}
		ws.SetPingHandler(func(text string) error {
			_ = ws.SetReadDeadline(time.Now().Add(silence))
			_ = ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(time.Second))
			return nil
		})
		return ws, ws.SetReadDeadline(time.Now().Add(silence))
	}
	var err error
	if c.ws, err = c.dial(); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { c.Close() })
	return c, nil
}

// conn is one connection after the other. One goroutine reads; any may write.
type conn struct {
	dial  func() (*websocket.Conn, error)
	ctx   context.Context
	pause time.Duration

	mu      sync.Mutex
	ws      *websocket.Conn
	init    []byte                     // the client's connection_init
	acked   bool                       // the client knows that it is connected
	running map[string]json.RawMessage // payloads of the subscriptions, with the last cursors, by id
}

type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// ReadMessage returns the next message that is meant for the client.
func (c *conn) ReadMessage() (kind int, text []byte, err error) {
	for {
		c.mu.Lock()
		ws := c.ws
		c.mu.Unlock()
		if _, text, err = ws.ReadMessage(); err == nil {
			if text, err = c.take(text); text != nil {
				return websocket.TextMessage, text, nil
			}
		} else if !websocket.IsCloseError(err, 4400, 4401, 4403, 4406, 4409, 4429) {
			err = c.again()
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

// again makes another connection, and begins it as the client has begun the first.
func (c *conn) again() error {
	for {
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(c.pause):
		}
		ws, err := c.dial()
		if err != nil {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ws.Close()
		c.ws = ws
		c.send(websocket.TextMessage, c.init)
		if c.ctx.Err() != nil { // meanwhile
			ws.Close()
		}
		return nil
	}
}

// send writes a message; that it could not, whoever reads finds out. Its caller
// holds mu.
func (c *conn) send(kind int, text []byte) {
	_ = c.ws.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_ = c.ws.WriteMessage(kind, text)
}

// take notes what a message says, and returns what the client is told; nil: nothing.
func (c *conn) take(text []byte) (told []byte, err error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Type {
	case "connection_ack":
		if c.acked {
			c.repeat()
			return nil, nil
		}
		c.acked = true
	case "next":
		c.running[m.ID] = after(c.running[m.ID], m.Payload)
	case "error": // which the client takes for a result
		delete(c.running, m.ID)
		return json.Marshal(message{ID: m.ID, Type: "next", Payload: json.RawMessage(`{"errors":` + string(m.Payload) + `}`)})
	case "complete": // after which the client panics when it is closed
		delete(c.running, m.ID)
		return json.Marshal(message{ID: m.ID, Type: "next", Payload: json.RawMessage(`{"data":null}`)})
	case "ping": // which the client takes for a result of nothing
		c.send(websocket.TextMessage, []byte(`{"type":"pong"}`))
		return nil, nil
	}
	return text, nil
}

// repeat sends what runs. Its caller holds mu.
func (c *conn) repeat() {
	for id, payload := range c.running {
		text, _ := json.Marshal(message{ID: id, Type: "subscribe", Payload: payload})
		c.send(websocket.TextMessage, text)
	}
}

// after is the payload of a subscription that goes on after a result.
func after(payload, result json.RawMessage) json.RawMessage {
	var r struct {
		Extensions struct {
			Cursor string `json:"cursor"`
		} `json:"extensions"`
	}
	var p map[string]any
	if json.Unmarshal(result, &r) != nil || r.Extensions.Cursor == "" || json.Unmarshal(payload, &p) != nil {
		return payload
	}
	p["extensions"] = map[string]any{"cursor": r.Extensions.Cursor}
	text, _ := json.Marshal(p)
	return text
}

// WriteMessage sends a message, or has it sent by the next connection.
func (c *conn) WriteMessage(kind int, text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var m message
	if json.Unmarshal(text, &m) == nil {
		switch m.Type {
		case "connection_init":
			c.init = text
		case "subscribe":
			c.running[m.ID] = m.Payload
		case "complete":
			delete(c.running, m.ID)
		}
	}
	c.send(kind, text)
	return nil
}

// Close ends the connection.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ws.Close()
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

const (
	handshakeTime = 15 * time.Second
	writeTime     = 10 * time.Second
	// silence is after how long without a word the other end is taken for gone. The
	// service pings every 20 s, and comments on streams every 12 s.
	silence = 45 * time.Second
	// maxMessage bounds one message, in bytes.
	maxMessage = 64 << 20
	// operationID is the only one of a connection.
	operationID = "1"
)

// message is one of graphql-transport-ws.
type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// socket is one connection by graphql-transport-ws
// (https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md).
func (w *watching) socket(ctx context.Context) error {
	conn, err := w.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() {
		text := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(time.Second)) // it is closed anyway
		conn.Close()
	})
	defer stop()
	heard := func() error { return conn.SetReadDeadline(time.Now().Add(silence)) }
	conn.SetReadLimit(maxMessage)
	ping := conn.PingHandler()
	conn.SetPingHandler(func(text string) error { return errors.Join(heard(), ping(text)) })
	hello := map[string]any{"cursors": true}
	if w.token != "" {
		hello["authToken"] = w.token
	}
	if err := send(conn, "connection_init", "", hello); err != nil {
		return err
	}
	for {
		if err := heard(); err != nil {
			return &lost{why: err.Error()}
		}
		var m message
		if err := conn.ReadJSON(&m); err != nil {
			return closed(err)
		}
		if over, err := w.heard(conn, m); over || err != nil {
			return err
		}
	}
}

// dial makes the connection.
func (w *watching) dial(ctx context.Context) (*websocket.Conn, error) {
	url := w.URL
	if rest, ok := strings.CutPrefix(url, "http"); ok {
		url = "ws" + rest
	}
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: handshakeTime, Proxy: http.ProxyFromEnvironment}
	if t, ok := w.client().Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
		d.TLSClientConfig = t.TLSClientConfig.Clone()
		d.TLSClientConfig.NextProtos = nil // a socket is HTTP/1.1
	}
	conn, resp, err := d.DialContext(ctx, url, nil)
	if err == nil {
		return conn, nil
	}
	if resp == nil || !errors.Is(err, websocket.ErrBadHandshake) {
		return nil, unanswered(err)
	}
	body, _ := io.ReadAll(resp.Body) // gorilla keeps the first bytes alone
	err = answered(resp, body)
	if _, refused := errors.AsType[*Refusal](err); refused && (w.Transport == Auto || w.Transport == "") {
		return nil, &lost{why: "no socket is let through (" + resp.Status + "); going on by server-sent events", other: true}
	}
	return nil, err
}

func send(conn *websocket.Conn, kind, id string, payload any) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("the variables are not JSON: %w", err)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return &lost{why: err.Error()}
	}
	if err := conn.WriteJSON(message{ID: id, Type: kind, Payload: text}); err != nil {
		return &lost{why: err.Error()}
	}
	return nil
}

// heard takes one message. over means that the operation is complete.
func (w *watching) heard(conn *websocket.Conn, m message) (over bool, err error) {
	switch m.Type {
	case "connection_ack":
		if err := send(conn, "subscribe", operationID, w.payload()); err != nil {
			return false, err
		}
		w.began(WebSocket)
	case "ping":
		var told struct {
			Cursors map[string]string `json:"cursors"`
		}
		_ = json.Unmarshal(m.Payload, &told) // a ping may say anything
		w.learn(told.Cursors[operationID])
		w.pauses.over()
		return false, send(conn, "pong", "", struct{}{})
	case "next":
		return false, w.event(m.Payload, "")
	case "error":
		var list []Error
		if err := json.Unmarshal(m.Payload, &list); err != nil {
			return false, &lost{why: "an error could not be read: " + excerpt(m.Payload)}
		}
		return false, ended(list)
	case "complete":
		return true, nil
	}
	return false, nil
}

// closed is what the end of a socket means.
func closed(err error) error {
	c, ok := errors.AsType[*websocket.CloseError](err)
	if !ok {
		return &lost{why: "the connection broke: " + err.Error()}
	}
	why := fmt.Sprintf("closed with %d %s", c.Code, c.Text)
	switch c.Code {
	case 4403:
		return &lost{why: why, token: true}
	case websocket.CloseTryAgainLater: // 1013
		return &lost{why: why, after: time.Second}
	case 4400, 4401, 4406, 4409, 4429, websocket.CloseProtocolError, websocket.CloseUnsupportedData, websocket.CloseInvalidFramePayloadData, websocket.CloseMessageTooBig:
		return &Refusal{Code: strconv.Itoa(c.Code), Message: c.Text, Remedy: "this program and the service do not understand each other: are they of the same version"}
	}
	return &lost{why: why}
}

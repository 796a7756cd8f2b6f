//go:build conformance

package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// dialLegacy subscribes over the subprotocol graphql-ws, as clients built on
// subscriptions-transport-ws do, and resumes by the extensions of its operation.
func dialLegacy(ctx context.Context, base, token string, c call) (stream, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-ws"}, HandshakeTimeout: 4 * time.Second}
	ws, _, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(base, "http")+"/graphql", nil)
	if err != nil {
		return nil, err
	}
	s := &legacySocket{socket{ws: ws}}
	s.done = context.AfterFunc(ctx, func() { ws.Close() })
	if err := s.begin(connectionInit{AuthToken: token}, c); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// legacySocket differs from a socket in the names of its messages.
type legacySocket struct{ socket }

func (s *legacySocket) begin(init connectionInit, c call) error {
	if err := s.send("connection_init", "", init); err != nil {
		return err
	}
	if m, err := s.receive(); err != nil || m.Type != "connection_ack" {
		return fmt.Errorf("no connection_ack but %q: %w", m.Type, err)
	}
	return s.send("start", operationID, c)
}

func (s *legacySocket) next() (result, error) {
	for {
		m, err := s.receive()
		if err != nil {
			return result{}, err
		}
		switch m.Type {
		case "ka", "connection_error": // it is closed then, with a code
		case "data":
			var r result
			return r, json.Unmarshal(m.Payload, &r)
		case "complete":
			return result{}, errComplete
		default:
			return result{}, fmt.Errorf("got %q: %s", m.Type, m.Payload)
		}
	}
}

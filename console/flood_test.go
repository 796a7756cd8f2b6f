package console_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"tidings/realtime"
	"tidings/schema"
)

// Sockets that say nothing, many times as many as there are places, keep no operator
// out: the oldest of them make room.
func TestAFloodOfSocketsWithoutATokenKeepsNoOperatorOut(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	url := "ws" + strings.TrimPrefix(p.admin, "http") + "/console/graphql"
	root := token(t, "root", schema.Admin)
	first := connect(t, p.admin+"/console/graphql", root)
	var flood sync.WaitGroup
	var mu sync.Mutex
	var open []*websocket.Conn
	d := websocket.Dialer{Subprotocols: []string{realtime.Subprotocol}}
	for range 8 {
		flood.Go(func() {
			for range 80 {
				ws, _, err := d.Dial(url, nil)
				if err != nil {
					t.Errorf("a socket was refused: %v", err)
					return
				}
				mu.Lock()
				open = append(open, ws)
				mu.Unlock()
			}
		})
	}
	flood.Wait()
	t.Cleanup(func() {
		for _, ws := range open {
			ws.Close()
		}
	})
	for range 10 {
		connect(t, p.admin+"/console/graphql", root)
	}
	ask[struct{ Whoami any }](first, "1", `{ whoami { subject } }`, nil)
	if _, _, err := open[0].ReadMessage(); err == nil {
		t.Error("the oldest one without a token is still there")
	}
}

//go:build kubernetes

package kubernetes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// memory has apis with as little memory as docs/SCALING.md allows serve clients who ask for much, each for
// something else, and read nothing. The apis cut these off before the kernel
// ends the apis; who reads hears everything.
func memory(t *testing.T) {
	kubectl(t, "set", "resources", "deployment/api", "--limits=memory=320Mi", "--requests=memory=128Mi")
	rolledOut(t, "deployment/api", 5*time.Minute)
	t.Cleanup(func() {
		kubectl(t, "set", "resources", "deployment/api", "--limits=memory=1Gi", "--requests=memory=1Gi")
		rolledOut(t, "deployment/api", 5*time.Minute)
	})
	eventually(t, 2*time.Minute, "the old pods are gone", func() error { return terminated("api") })
	before := restarts(t, "api")
	s := public(t)
	l := begin(t, s, 20, 4)
	const stuck = 900 // with a queue of 1 MiB each, more than three pods have
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	for i := range stuck {
		clients.Go(func() { idle(ctx, s, i) })
	}
	var said atomic.Int64
	body := strings.Repeat("much to tell ", 1500)
	for i := range 8 {
		clients.Go(func() {
			client, token := newClient(true), s.token(fmt.Sprintf("talker-%d", i))
			for n := 0; ctx.Err() == nil; n++ {
				title := fmt.Sprintf("talk-%d-%d", i, n)
				l.ledger.mu.Lock()
				l.ledger.started[title] = time.Now()
				l.ledger.mu.Unlock()
				_, err := post(ctx, client, s.url, token, "", call{
					Query:     `mutation ($title: String!, $body: String!) { createPost(input: {title: $title, body: $body}) { title } }`,
					Variables: map[string]any{"title": title, "body": body},
				})
				if err != nil { // it may have happened, and is not sent again
					pause(ctx, 100*time.Millisecond)
					continue
				}
				l.ledger.mu.Lock()
				l.ledger.acked[title] = time.Now()
				l.ledger.mu.Unlock()
				said.Add(1)
			}
		})
	}
	pause(t.Context(), time.Minute)
	cancel()
	clients.Wait()
	killed := 0
	for _, p := range pods(t, "api") {
		for _, c := range p.Status.ContainerStatuses {
			if end := c.LastState.Terminated; end != nil && end.Reason == "OOMKilled" {
				killed++
			}
		}
	}
	t.Logf("FIGURES %d clients that read nothing, 320 MiB: %d containers restarted, %d of them for their memory", stuck, restarts(t, "api")-before, killed)
	t.Logf("FIGURES %d records of %d KiB were written meanwhile", said.Load(), len(body)>>10)
	if said.Load() < 100 {
		t.Error("that is too little to fill anything")
	}
	if killed > 0 {
		t.Errorf("%d containers were ended for the memory that they used", killed)
	}
	l.end(t).show(t, 20)
}

// idle subscribes to something of its own and reads nothing; when it was cut off
// it comes back.
func idle(ctx context.Context, s service, i int) {
	dialer := websocket.Dialer{
		Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: answers, ReadBufferSize: 1 << 10,
		NetDialContext: (&net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
		}}).DialContext,
	}
	for ctx.Err() == nil {
		ws, _, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(s.url, "http")+"/graphql", http.Header{})
		if err != nil {
			pause(ctx, time.Second)
			continue
		}
		_ = ws.WriteJSON(map[string]any{"type": "connection_init", "payload": map[string]any{"authToken": s.token(fmt.Sprintf("idle-%d", i))}})
		_ = ws.WriteJSON(map[string]any{"id": "1", "type": "subscribe", "payload": call{
			Query: fmt.Sprintf(`subscription { postChanged { post { own%d: body } } }`, i),
		}})
		// Nothing is read. That it was cut off shows when it writes.
		for ctx.Err() == nil && ws.WriteJSON(map[string]any{"type": "pong"}) == nil {
			pause(ctx, 5*time.Second)
		}
		ws.Close()
	}
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

package realtime_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/realtime"
)

// A socket may be let go in the very moment in which it comes.
func TestASocketThatIsLetGoAtOnceIsClosedInOrder(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxAge: time.Nanosecond})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				d := websocket.Dialer{Subprotocols: []string{realtime.Subprotocol}, HandshakeTimeout: 10 * time.Second}
				ws, _, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(f.url, "http"), nil)
				if err != nil {
					t.Error(err)
					return
				}
				_ = ws.SetReadDeadline(time.Now().Add(20 * time.Second))
				if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseServiceRestart) {
					t.Errorf("the socket ended with %v", err)
				}
				ws.Close()
			}
		})
	}
	wg.Wait()
}

// Whoever has said goodbye and does not read holds nobody up.
func TestAPeerThatClosesAndReadsNothingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{WriteTimeout: time.Minute})
	c := connect(t, f.url, "")
	c.subscribe("1", "subscription ticks")
	eventually(t, "it subscribes", func() bool { return f.engine.subscribers() == 1 })
	f.engine.emit(strings.Repeat("x", 32<<20)) // more than kernels buffer
	goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	if err := c.ws.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(10*time.Second)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its operations end", func() bool { return f.hub.Stats().Sockets == 0 })
	began := time.Now()
	_ = f.hub.Close() // which may take its two seconds
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the hub was closed after %s", took)
	}
}

// A client asks again for what was not answered: so it must not have been done.
func TestWhatASocketThatIsLetGoHasNotBegunIsNotDone(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{DrainWindow: time.Millisecond})
	c := connect(t, f.url, "")
	c.subscribe("1", "mutation planned slowly")
	<-f.engine.blocked
	drained := make(chan error, 1)
	go func() { drained <- f.hub.Drain(t.Context()) }()
	c.expectClose(1012)
	close(f.engine.release)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if f.engine.executed.Load() {
		t.Error("it was executed, and not answered")
	}
}

package realtime_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/realtime"
)

// A page in a browser sees the code of a close frame, but not the status of a
// handshake that was refused.
func TestAFullProcessClosesSocketsWithACodeThatBrowsersSee(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxConnections: 1})
	first := connect(t, f.url, "")
	for _, protocols := range [][]string{{realtime.Subprotocol}, {"graphql-ws"}, nil} {
		for _, token := range []string{"", "wrong"} { // nobody is asked who cannot stay
			c := dialAs(t, f.url, protocols, http.Header{"Authorization": {token}})
			c.send(`{"type":"connection_init"}`) // crosses the close frame
			c.expectClose(1013)
		}
	}
	header := http.Header{"Origin": {"https://elsewhere.example.com"}}
	if _, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(f.url, "http"), header); err == nil || resp.StatusCode != 403 {
		t.Errorf("a foreign page: %v %v", resp, err)
	}
	if stats := f.hub.Stats(); stats.Sockets != 1 || stats.Opened != 1 || stats.Refused != 7 || f.hub.Crowded() == nil {
		t.Errorf("%+v, crowded: %v", stats, f.hub.Crowded())
	}
	first.subscribe("1", "query who")
	first.expect(`{"id":"1","type":"next","payload":{"data":{"who":""}}}`)
	first.ws.Close()
	eventually(t, "there is a place", func() bool { return f.hub.Stats().Sockets == 0 })
	connect(t, f.url, "")
}

// Clients that do not answer the close frame are waited for, some of them; the
// others are refused by a status, which costs less, until these have been given up.
func TestOnlySomeAreToldByACloseFrameAtATime(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxConnections: 1})
	connect(t, f.url, "")
	var silent []net.Conn
	var refused *http.Response
	eventually(t, "one is refused by a status", func() bool {
		conn, resp := handshakeOnly(t, f.url)
		if resp.StatusCode == http.StatusSwitchingProtocols {
			silent = append(silent, conn)
			return false
		}
		refused = resp
		return true
	})
	if refused.StatusCode != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" || len(silent) < 64 {
		t.Errorf("after %d: %d, Retry-After %q", len(silent), refused.StatusCode, refused.Header.Get("Retry-After"))
	}
	for _, conn := range silent {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Fatalf("one that is silent is not given up: %v", err)
		}
	}
	dial(t, f.url).expectClose(1013)
}

// handshakeOnly asks for a socket and then says nothing more.
func handshakeOnly(t *testing.T, url string) (net.Conn, *http.Response) {
	t.Helper()
	addr := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+addr+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: "+realtime.Subprotocol+"\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, resp
}

// A hub that ends waits no longer for those whom it sends away than for others.
func TestTheHubEndsWhileSocketsAreSentAway(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxConnections: 1})
	connect(t, f.url, "")
	handshakeOnly(t, f.url)
	if err := f.hub.Close(); err != nil {
		t.Error(err)
	}
}

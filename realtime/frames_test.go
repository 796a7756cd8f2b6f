package realtime_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/realtime"
)

// raw is a connection after the handshake, for frames that no client sends.
type raw struct {
	net.Conn
	r         *bufio.Reader
	handshake *http.Response
}

func dialRaw(t *testing.T, url string, headers ...string) raw {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // a closed one shows at once
	lines := append([]string{
		"GET / HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: " + realtime.Subprotocol,
	}, headers...)
	fmt.Fprintf(conn, "%s\r\n\r\n", strings.Join(lines, "\r\n"))
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the handshake gave %v %v", resp, err)
	}
	return raw{conn, r, resp}
}

// frame is a masked frame of a client; the mask is zero.
func frame(first byte, payload string) string {
	switch n := len(payload); {
	case n < 126:
		return string([]byte{first, 0x80 | byte(n), 0, 0, 0, 0}) + payload
	default:
		return string([]byte{first, 0x80 | 126, byte(n >> 8), byte(n), 0, 0, 0, 0}) + payload
	}
}

// answer reads the frames up to a close frame and returns its code, 0 when
// the connection ends without one.
func (c raw) answer(t *testing.T) (texts []string, code int) {
	t.Helper()
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(c.r, head); err != nil {
			return texts, 0
		}
		if head[1] >= 126 {
			t.Fatalf("a frame of %x", head)
		}
		body := make([]byte, head[1])
		if _, err := io.ReadFull(c.r, body); err != nil {
			t.Fatal(err)
		}
		switch head[0] {
		case 0x88:
			if len(body) == 0 {
				return texts, websocket.CloseNoStatusReceived
			}
			return texts, int(body[0])<<8 | int(body[1])
		case 0x81:
			texts = append(texts, string(body))
		case 0x8a:
			texts = append(texts, "pong "+string(body))
		}
	}
}

func TestFramesAgainstTheProtocolEndTheConnection(t *testing.T) {
	t.Parallel()
	const hello = `{"type":"connection_init"}`
	cases := []struct {
		name, frames string
		code         int
	}{
		{"no mask", "\x81\x1a" + hello, 1002},
		{"a reserved bit", frame(0xc1, hello), 1002},
		{"a reserved opcode", frame(0x83, hello), 1002},
		{"a reserved control opcode", frame(0x8b, ""), 1002},
		{"a continuation of nothing", frame(0x80, hello), 1002},
		{"a message within a message", frame(0x01, `{"type":`) + frame(0x81, hello), 1002},
		{"a ping in parts", frame(0x09, "x"), 1002},
		{"a ping that is too long", frame(0x89, strings.Repeat("x", 126)), 1002},
		{"a close frame of one byte", frame(0x88, "x"), 1005},
		{"a close code that is none", frame(0x88, "\x03\xed"), 1002},
		{"a close reason that is not UTF-8", frame(0x88, "\x03\xe8\xff"), 1002},
		{"a length beyond all bounds", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 0},
		{"binary", frame(0x82, hello), 4400},
		{"text that is not UTF-8", frame(0x81, "\xc3\x28"), 1007},
		{"a message that is too large, in parts", frame(0x01, strings.Repeat(" ", 700)) + frame(0x80, strings.Repeat(" ", 700)), 1009},
	}
	f := serve(t, realtime.Options{MaxMessage: 1 << 10})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := dialRaw(t, f.url)
			if _, err := io.WriteString(conn, c.frames); err != nil {
				t.Fatal(err)
			}
			if _, code := conn.answer(t); code != c.code {
				t.Errorf("closed with %d, want %d", code, c.code)
			}
		})
	}
	eventually(t, "no socket is left", func() bool { return f.hub.Stats().Sockets == 0 })
}

func TestAMessageMayComeInPartsWithAPingInBetween(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := dialRaw(t, f.url)
	_, _ = io.WriteString(c, frame(0x01, `{"type":"conn`)+frame(0x89, "p")+frame(0x00, "")+frame(0x80, `ection_init"}`)+frame(0x81, "end"))
	texts, code := c.answer(t)
	if want := []string{"pong p", `{"type":"connection_ack"}`}; !slices.Equal(texts, want) || code != 4400 {
		t.Errorf("got %q and %d", texts, code)
	}
}

// Compressed frames would cost memory for each socket, and a few bytes could
// become many.
func TestCompressionIsNotNegotiated(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := dialRaw(t, f.url, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x-webkit-deflate-frame")
	if got := c.handshake.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("the extensions %q were agreed", got)
	}
	_, _ = io.WriteString(c, frame(0xc1, "\xaa\x56\x2a")) // RSV1: compressed
	if _, code := c.answer(t); code != 1002 {
		t.Errorf("a compressed frame was answered with %d", code)
	}
}

// A message may come byte by byte, and many may come at once.
func TestFramesMayComeInAnyPieces(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := dialRaw(t, f.url)
	var all bytes.Buffer
	all.WriteString(frame(0x81, `{"type":"connection_init"}`))
	for i := range 20 {
		all.WriteString(frame(0x81, fmt.Sprintf(`{"type":"ping","payload":{"n":%d}}`, i)))
	}
	for _, b := range all.Bytes()[:40] {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = c.Write(all.Bytes()[40:])
	head := make([]byte, 2)
	for i := range 21 {
		if _, err := io.ReadFull(c.r, head); err != nil {
			t.Fatalf("after %d answers: %v", i, err)
		}
		if _, err := c.r.Discard(int(head[1])); err != nil {
			t.Fatal(err)
		}
	}
}

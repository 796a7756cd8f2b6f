package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"tidings/internal/proc"
)

// listening serves h on a real socket until the test ends, and returns its address.
func listening(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proc.ServeHTTP(ctx, silent, l, h, nil, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// frames is an HTTP/2 connection whose every frame the test writes itself.
type frames struct {
	*http2.Framer
	conn     net.Conn
	settings map[http2.SettingID]uint32
}

// dial opens a connection and reads what the server says of itself.
func dial(t *testing.T, address string) *frames {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	f := &frames{Framer: http2.NewFramer(conn, conn), conn: conn, settings: map[http2.SettingID]uint32{}}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	for len(f.settings) == 0 {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
			if err := s.ForeachSetting(func(s http2.Setting) error { f.settings[s.ID] = s.Val; return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.WriteSettingsAck(); err != nil {
		t.Fatal(err)
	}
	return f
}

// open writes the header of a request.
func (f *frames) open(stream uint32) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: request(), EndStream: true, EndHeaders: true})
}

func request() []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", "GET"}, {":path", "/"}, {":scheme", "http"}, {":authority", "x"}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a buffer takes all
	}
	return b.Bytes()
}

// goAway reads until the server ends the connection, and returns why it says so.
func (f *frames) goAway() http2.ErrCode {
	why := http2.ErrCodeNo
	for {
		frame, err := f.ReadFrame()
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			return ^http2.ErrCode(0)
		}
		if err != nil {
			return why
		}
		if g, ok := frame.(*http2.GoAwayFrame); ok {
			why = g.ErrCode
		}
	}
}

// What a client may do is what the server says at the beginning: so many streams,
// headers so large, and no WebSockets (RFC 8441), which nothing here could serve.
func TestAConnectionOfHTTP2IsToldItsBounds(t *testing.T) {
	t.Parallel()
	f := dial(t, listening(t, echo))
	if n := f.settings[http2.SettingMaxConcurrentStreams]; n != 250 {
		t.Errorf("%d streams at a time", n)
	}
	if n := f.settings[http2.SettingMaxHeaderListSize]; n == 0 || n > 80<<10 {
		t.Errorf("%d bytes of headers", n)
	}
	if _, offered := f.settings[http2.SettingEnableConnectProtocol]; offered {
		t.Error("extended CONNECT is offered")
	}
}

// CVE-2023-44487: opened and reset at once, so that none counts as open.
func TestRequestsThatAreResetAtOnceMakeNoMoreWorkThanOthers(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	release := make(chan struct{})
	address := listening(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			return
		}
		n := running.Add(1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		<-release
		running.Add(-1)
	}))
	defer close(release)
	f := dial(t, address)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for stream := uint32(1); stream < 40_000; stream += 2 {
			if f.open(stream) != nil || f.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
				return // it has been closed
			}
		}
	}()
	if why := f.goAway(); why != http2.ErrCodeEnhanceYourCalm && why != http2.ErrCodeNo {
		t.Errorf("the connection was ended with %v", why)
	}
	<-written
	if n := most.Load(); n == 0 || n > 250 {
		t.Errorf("%d handlers ran at a time", n)
	}
	if status, _ := get(t, "http://"+address+"/other"); status != 200 {
		t.Errorf("others are answered with %d", status)
	}
}

// CVE-2023-45288: a header that goes on without an end, in CONTINUATION frames.
func TestHeadersWithoutAnEndAreCutOff(t *testing.T) {
	t.Parallel()
	f := dial(t, listening(t, echo))
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	if err := e.WriteField(hpack.HeaderField{Name: "x-flood", Value: strings.Repeat("y", 8<<10)}); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: request()}); err != nil {
		t.Fatal(err)
	}
	sent := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sent < 256<<20 && f.WriteContinuation(1, false, b.Bytes()) == nil {
			sent += b.Len()
		}
	}()
	why := f.goAway()
	f.conn.Close()
	<-done
	if why == ^http2.ErrCode(0) || sent > 64<<20 {
		t.Errorf("%d bytes were taken: %v", sent, why)
	}
}

// Nobody reads the answers to these. It is not parallel: it looks at the memory.
func TestFloodsOfQuestionsAboutTheConnectionAreCutOff(t *testing.T) {
	f := dial(t, listening(t, echo))
	before := inUse()
	sent := 0
	for f.conn.SetWriteDeadline(time.Now().Add(time.Second)) == nil && sent < 2_000_000 {
		if f.WritePing(false, [8]byte{}) != nil {
			break // it was closed, or nobody takes it any more
		}
		sent++
	}
	if sent == 2_000_000 {
		t.Error("all of them were taken")
	}
	if more := inUse() - before; more > 64<<20 {
		t.Errorf("they hold %d bytes", more)
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

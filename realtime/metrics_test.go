package realtime_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
	"tidings/realtime"
)

// counted is a fixture whose numbers are read as a scraper reads them.
type counted struct {
	fixture
	metrics *proc.Metrics
}

func count(t testing.TB, o realtime.Options) counted {
	t.Helper()
	m := proc.NewMetrics()
	o.Metrics = m
	return counted{serve(t, o), m}
}

func (c counted) numbers(t testing.TB) proctest.Numbers {
	t.Helper()
	return proctest.Scrape(t, c.metrics)
}

// until waits for numbers: a connection that is over is counted a moment later.
func (c counted) until(t testing.TB, want proctest.Numbers) {
	t.Helper()
	eventually(t, "the numbers are as they should be", func() bool {
		n := c.numbers(t)
		for series, value := range want {
			if n[series] != value {
				return false
			}
		}
		return true
	})
}

func TestConnectionsAndWhatTheyCarryAreCounted(t *testing.T) {
	t.Parallel()
	f := count(t, realtime.Options{MaxConnections: 100})
	f.numbers(t).Expect(t, proctest.Numbers{ // from the first scrape on
		`tidings_connections{transport="websocket"}`: 0, `tidings_connections_opened_total{transport="sse"}`: 0,
		`tidings_connections_closed_total{reason="slow",transport="websocket"}`: 0, `tidings_connections_refused_total{reason="full"}`: 0,
		`tidings_operations_live{transport="sse"}`: 0, `tidings_slow_closes_total`: 0, `tidings_queue_bytes`: 0,
		`tidings_connections_max`: 100, `tidings_queue_max_bytes`: 1 << 20,
	})
	var sockets []*client
	for range 3 {
		c := connect(t, f.url, "")
		c.subscribe("1", "subscription ticks")
		c.subscribe("2", "subscription ticks")
		sockets = append(sockets, c)
	}
	first, second := post(t, f.url, "subscription ticks", nil), post(t, f.url, "subscription ticks", nil)
	eventually(t, "all are subscribed", func() bool { return f.engine.subscribers() == 8 })
	f.engine.emit("")
	f.engine.emit("")
	sockets[0].subscribe("3", "query who")
	eventually(t, "all is delivered", func() bool { return f.hub.Stats().Delivered == 17 })
	f.until(t, proctest.Numbers{
		`tidings_connections{transport="websocket"}`: 3, `tidings_connections{transport="sse"}`: 2,
		`tidings_connections_opened_total{transport="websocket"}`: 3, `tidings_connections_opened_total{transport="sse"}`: 2,
		`tidings_operations_live{transport="websocket"}`: 6, `tidings_operations_live{transport="sse"}`: 2,
		`tidings_deliveries_total{transport="websocket"}`: 13, `tidings_deliveries_total{transport="sse"}`: 4,
		`tidings_queue_bytes`: 0, `tidings_queue_largest_bytes`: 0,
	})

	sockets[0].send(`{"id":"1","type":"complete"}`)
	f.until(t, proctest.Numbers{`tidings_operations_live{transport="websocket"}`: 5})
	_ = sockets[0].ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(time.Second))
	_ = sockets[1].ws.NetConn().(*net.TCPConn).SetLinger(0)
	sockets[1].ws.Close() // resets
	sockets[2].ws.Close() // without a close frame
	first.resp.Body.Close()
	second.resp.Body.Close()
	f.until(t, proctest.Numbers{
		`tidings_connections{transport="websocket"}`: 0, `tidings_connections{transport="sse"}`: 0,
		`tidings_operations_live{transport="websocket"}`: 0, `tidings_operations_live{transport="sse"}`: 0,
		`tidings_connections_closed_total{reason="client",transport="websocket"}`: 1,
		`tidings_connections_closed_total{reason="error",transport="websocket"}`:  2,
		`tidings_connections_closed_total{reason="client",transport="sse"}`:       2,
	})
	if sum := f.numbers(t).Sum("tidings_connections_closed_total"); sum != 5 {
		t.Errorf("%v ends of 5 connections", sum)
	}
}

// Each connection counts once, under the first reason that there was for its end.
func TestConnectionsAreCountedUnderWhyTheyEnd(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		transport, reason string
		options           realtime.Options
		end               func(t *testing.T, f counted)
	}{
		"a message against the protocol": {"websocket", "protocol", realtime.Options{}, func(t *testing.T, f counted) {
			c := connect(t, f.url, "")
			c.send("no")
			c.expectClose(4400)
		}},
		"a frame against the protocol": {"websocket", "error", realtime.Options{}, func(t *testing.T, f counted) {
			_, _ = connect(t, f.url, "").ws.NetConn().Write([]byte{0xff, 0xff, 0xff})
		}},
		"no connection_init": {"websocket", "protocol", realtime.Options{InitTimeout: time.Millisecond}, func(t *testing.T, f counted) {
			dial(t, f.url).expectClose(4408)
		}},
		"a wrong token": {"websocket", "credentials", realtime.Options{}, func(t *testing.T, f counted) {
			c := dial(t, f.url)
			c.send(`{"type":"connection_init","payload":{"authToken":"wrong"}}`)
			c.expectClose(4403)
		}},
		"a token that ends": {"websocket", "expired", realtime.Options{}, func(t *testing.T, f counted) {
			connect(t, f.url, `{"authToken":"`+token(t, "ada", 4*time.Second)+`"}`).expectClose(4403)
		}},
		"a stream's token that ends": {"sse", "expired", realtime.Options{}, func(t *testing.T, f counted) {
			post(t, f.url, "subscription ticks", http.Header{"Authorization": {"Bearer " + token(t, "ada", 4*time.Second)}})
		}},
		"a client that does not answer": {"websocket", "idle", realtime.Options{PingEvery: 20 * time.Millisecond}, func(t *testing.T, f counted) {
			dial(t, f.url) // and reads no pings
		}},
		"an age": {"websocket", "age", realtime.Options{MaxAge: 20 * time.Millisecond}, func(t *testing.T, f counted) {
			dial(t, f.url).expectClose(1012)
		}},
		"a drain": {"websocket", "drain", realtime.Options{DrainWindow: time.Millisecond}, func(t *testing.T, f counted) {
			c := connect(t, f.url, "")
			go func() { _ = f.hub.Drain(t.Context()) }()
			c.expectClose(1012)
		}},
		"a stream's drain": {"sse", "drain", realtime.Options{DrainWindow: time.Millisecond}, func(t *testing.T, f counted) {
			post(t, f.url, "subscription ticks", nil)
			if err := f.hub.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		"a stream's operation that ends": {"sse", "done", realtime.Options{}, func(t *testing.T, f counted) {
			post(t, f.url, "subscription ends", nil)
		}},
		"too many of a caller": {"websocket", "overload", realtime.Options{MaxPerCaller: 1}, func(t *testing.T, f counted) {
			connect(t, f.url, "")
			c := dial(t, f.url)
			c.send(`{"type":"connection_init"}`)
			c.expectClose(1013)
		}},
		"a client that does not read": {"websocket", "slow", realtime.Options{MaxQueue: 4 << 10}, func(t *testing.T, f counted) {
			connect(t, f.url, "").subscribe("1", "subscription ticks")
			fill(t, f)
		}},
		"a stream that is not read": {"sse", "slow", realtime.Options{MaxQueue: 4 << 10, WriteTimeout: 100 * time.Millisecond}, func(t *testing.T, f counted) {
			post(t, f.url, "subscription ticks", nil)
			fill(t, f)
		}},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := count(t, end.options)
			end.end(t, f)
			series := `tidings_connections_closed_total{reason="` + end.reason + `",transport="` + end.transport + `"}`
			want := proctest.Numbers{series: 1}
			if end.reason == "slow" {
				want["tidings_slow_closes_total"] = 1
			}
			f.until(t, want)
			n := f.numbers(t)
			if open, closed := n.Sum("tidings_connections"), n.Sum("tidings_connections_closed_total"); closed != 1 || open+closed != n.Sum("tidings_connections_opened_total") {
				t.Errorf("open %v, closed %v, opened %v", open, closed, n.Sum("tidings_connections_opened_total"))
			}
		})
	}
}

// fill sends to those who do not read until they are cut off.
func fill(t *testing.T, f counted) {
	t.Helper()
	eventually(t, "it is subscribed", func() bool { return f.engine.subscribers() == 1 })
	filler := strings.Repeat("x", 2<<10)
	eventually(t, "it is cut off", func() bool {
		for range 1000 {
			f.engine.emit(filler)
		}
		f.engine.forget()
		return f.engine.subscribers() == 0
	})
}

func TestRefusedConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	f := count(t, realtime.Options{MaxConnections: 2, MaxPerAddress: 1})
	connect(t, f.url, "")
	for range 2 {
		if status := stream(t, f.url, ""); status != http.StatusTooManyRequests {
			t.Error(status)
		}
	}
	if status := stream(t, f.url, "wrong"); status != http.StatusUnauthorized {
		t.Error(status)
	}
	f.numbers(t).Expect(t, proctest.Numbers{
		`tidings_connections_refused_total{reason="address"}`: 2, `tidings_connections_refused_total{reason="credentials"}`: 1,
	})
	one := count(t, realtime.Options{MaxConnections: 1})
	connect(t, one.url, "")
	dial(t, one.url).expectClose(1013)
	go func() { _ = one.hub.Drain(t.Context()) }()
	eventually(t, "one is refused because the hub drains", func() bool {
		stream(t, one.url, "")
		return one.numbers(t)[`tidings_connections_refused_total{reason="draining"}`] > 0
	})
}

func TestWhatWaitsForClientsIsCounted(t *testing.T) {
	t.Parallel()
	f := count(t, realtime.Options{MaxQueue: 64 << 20, WriteTimeout: time.Minute})
	c := connect(t, f.url, "")
	c.subscribe("1", "subscription ticks")
	eventually(t, "it is subscribed", func() bool { return f.engine.subscribers() == 1 })
	filler := strings.Repeat("x", 1<<20)
	for range 32 { // more than the system buffers
		f.engine.emit(filler)
	}
	n := f.numbers(t)
	if waits := n["tidings_queue_bytes"]; waits < 1<<20 || waits > 33<<20 || n["tidings_queue_largest_bytes"] != waits {
		t.Errorf("%v bytes wait, for one %v", waits, n["tidings_queue_largest_bytes"])
	}
	for range 32 {
		if _, err := c.read(); err != nil {
			t.Fatal(err)
		}
	}
	f.until(t, proctest.Numbers{"tidings_queue_bytes": 0, "tidings_queue_largest_bytes": 0})
}

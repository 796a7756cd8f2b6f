package bus_test

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
)

// A server with millions of subjects takes longer to make the consumer than a
// call may take.
func TestLatestOutwaitsAServerThatLooksThroughItsSubjects(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server did not start")
	}
	asked := &atomic.Int32{}
	const limit, delay = 500 * time.Millisecond, 1800 * time.Millisecond
	b := bustest.Open(t, bus.Options{URL: slowToMakeConsumers(t, s.Addr().String(), asked, delay), CallTimeout: limit})
	upto, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("A", "1"), Data: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	if err := b.Latest(t.Context(), b.Subjects().EveryRecord(), upto, func(bus.Message) error { count++; return nil }); err != nil || count != 1 {
		t.Errorf("%d records, want 1: %v", count, err)
	}
	if asked.Load() < 2 {
		t.Errorf("asked %d times: a question that was lost would have been waited for", asked.Load())
	}
	js, err := jetstream.New(bus.Conn(b))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "no consumer is left", func() bool {
		stream, err := js.Stream(t.Context(), b.Subjects().Stream())
		return err == nil && stream.CachedInfo().State.Consumers == 0
	})
}

// slowToMakeConsumers returns the URL of a way to the server on which the answers
// that follow the first request for a consumer come late.
func slowToMakeConsumers(t *testing.T, addr string, asked *atomic.Int32, delay time.Duration) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			var until atomic.Int64
			go pass(behind, client, func(raw []byte) {
				if n := bytes.Count(raw, []byte("$JS.API.CONSUMER.CREATE.")); n > 0 && asked.Add(int32(n)) == int32(n) {
					until.Store(time.Now().Add(delay).UnixNano())
				}
			})
			go pass(client, behind, func([]byte) { <-time.After(time.Until(time.Unix(0, until.Load()))) })
		}
	}()
	return "nats://" + l.Addr().String()
}

// pass hands on what comes, after saw has had a look at it.
func pass(to, from net.Conn, saw func(raw []byte)) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		saw(buffer[:n])
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

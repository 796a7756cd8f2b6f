package realtime_test

import (
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"tidings/realtime"
)

// BenchmarkDelivery hands one frame of 257 bytes to 400 sockets an
// iteration; the clients, which read in the same process, are included. The
// metric that counts is ns/delivery. Bursts of 8 show what coalescing brings.
func BenchmarkDelivery(b *testing.B) {
	for name, burst := range map[string]int64{"one": 1, "burst": 8} {
		b.Run(name, func(b *testing.B) { deliver(b, burst) })
	}
}

func deliver(b *testing.B, burst int64) {
	const sockets = 400
	f := serve(b, realtime.Options{})
	read := counter{done: make(chan struct{}, 1)}
	for range sockets {
		c := connect(b, f.url, "")
		c.subscribe("1", "subscription ticks")
		go func() { _, _ = io.Copy(&read, c.ws.NetConn()) }()
	}
	eventually(b, "all subscribe", func() bool { return f.engine.subscribers() == sockets })
	filler := strings.Repeat("x", 168)
	frame := int64(4 + len(`{"id":"1","type":"next","payload":}`) + len(tick(1, filler)))
	var sent int64
	b.ReportAllocs()
	for b.Loop() {
		before := f.hub.Stats().Delivered
		read.want.Store((sent + sockets*burst) * frame)
		for range burst {
			f.engine.emit(filler)
		}
		f.engine.forget()
		if f.hub.Stats().Delivered-before != uint64(sockets*burst) {
			b.Fatal("a delivery failed")
		}
		sent += sockets * burst
		<-read.done
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sent), "ns/delivery")
}

// counter tells when as many bytes have been written to it as are wanted.
type counter struct {
	n, want atomic.Int64
	done    chan struct{}
}

func (c *counter) Write(p []byte) (int, error) {
	if c.n.Add(int64(len(p))) == c.want.Load() {
		c.done <- struct{}{}
	}
	return len(p), nil
}

// BenchmarkIdleSocket reports what a socket with one subscription keeps of the
// heap and of stacks while nothing happens, its client's share included.
func BenchmarkIdleSocket(b *testing.B) {
	f := serve(b, realtime.Options{})
	before := memory()
	for b.Loop() {
		c := connect(b, f.url, "")
		c.subscribe("1", "subscription ticks")
	}
	eventually(b, "all subscribe", func() bool { return f.engine.subscribers() == b.N })
	b.ReportMetric(float64(memory()-before)/float64(b.N), "B/socket")
}

func memory() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

package bus_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
)

// A server that is gone without a word, as one is whose node was cut off, closes
// nothing: that its pings are not answered is how its client finds out.
func TestAServerThatFallsSilentIsNoticedInTime(t *testing.T) {
	t.Parallel()
	w := wayTo(t)
	const silence = 2 * time.Second
	b := bustest.Open(t, bus.Options{URL: w.url, Silence: silence})
	lost := bus.Conn(b).StatusChanged(nats.RECONNECTING)
	w.silent.Store(true)
	began := time.Now()
	select {
	case <-lost:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody has noticed")
	}
	took := time.Since(began)
	t.Logf("noticed after %v", took)
	if took < silence/2 { // less than three quarters by as much as a machine that is busy may be late
		t.Errorf("it was given up after %v, and may be silent for %v", took, silence)
	}
	w.silent.Store(false)
	until(t, "it is back", func() bool { return b.Ready() == nil })
	if n := b.Reconnects(); n != 1 {
		t.Errorf("it came back %d times", n)
	}
}

// One that answers late, as one does that has too much to do, is not given up.
func TestAServerThatIsMerelySlowIsNotGivenUp(t *testing.T) {
	t.Parallel()
	w := wayTo(t)
	const silence = 2 * time.Second
	b := bustest.Open(t, bus.Options{URL: w.url, Silence: silence})
	lost := bus.Conn(b).StatusChanged(nats.RECONNECTING)
	w.late.Store(int64(silence * 2 / 5)) // longer than from ping to ping
	select {
	case <-lost:
		t.Error("it was given up")
	case <-time.After(2 * silence):
	}
}

// way is a way to a server that may become a hole in which everything vanishes.
type way struct {
	url    string
	silent atomic.Bool
	late   atomic.Int64 // by how many nanoseconds what the server says is
}

func wayTo(t *testing.T) *way {
	t.Helper()
	addr := strings.TrimPrefix(bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}).URL(), "nats://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &way{url: "nats://" + l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			go w.carry(server, client, new(atomic.Int64))
			go w.carry(client, server, &w.late)
		}
	}()
	return w
}

// carry hands on what comes, unless the way is silent.
func (w *way) carry(to, from net.Conn, late *atomic.Int64) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		<-time.After(time.Duration(late.Load()))
		if w.silent.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

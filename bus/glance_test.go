package bus_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// asked counts the questions after the state of ALARMS.
func asked(t testing.TB, b *bus.Bus) *atomic.Int64 {
	t.Helper()
	var n atomic.Int64
	sub, err := bus.Conn(b).Subscribe("$JS.API.STREAM.INFO.ALARMS", func(*nats.Msg) { n.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return &n
}

func TestManyTailsOfAStreamLookAtItTogether(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	tails := make([]*tailing, 200)
	for i := range tails {
		tails[i] = tail(t, b, bus.Tail{Stream: "ALARMS", Subject: fmt.Sprint("alarms.", i), New: true})
	}
	n := asked(t, b)
	until(t, "the stream was looked at", func() bool { return n.Load() > 1 })
	begun, before := time.Now(), n.Load()
	until(t, "it was looked at for a while", func() bool { return time.Since(begun) > 5*time.Second })
	// Each looks every two seconds.
	if looks, most := n.Load()-before, 4*int64(time.Since(begun)/time.Second+1); looks > most {
		t.Errorf("%d questions for 200 tails, want at most %d", looks, most)
	}
	for i := range tails {
		told(t, b, fmt.Sprint("alarms.", i))
		tails[i].expect(t, uint64(i+1))
	}
}

// All of many tails are told of the end, though they share their looks.
func TestManyTailsEndWithTheirStream(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	tails := make([]*tailing, 50)
	for i := range tails {
		tails[i] = tail(t, b, bus.Tail{Stream: "ALARMS", Subject: fmt.Sprint("alarms.", i), New: true})
	}
	js, err := jetstream.New(bus.Conn(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "ALARMS"); err != nil {
		t.Fatal(err)
	}
	makeStream(t, b, alarms())
	for _, r := range tails {
		r.fails(t, fault.CursorExpired)
	}
}

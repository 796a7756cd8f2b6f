package realtime_test

import (
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidings/realtime"
)

// A hub whose process has little memory left takes nobody, and lets those go for whom
// most waits; the others notice nothing, and when there is memory it takes all.
func TestAHubThatIsShortOfMemoryTakesNobodyAndCutsOffTheSlow(t *testing.T) {
	t.Parallel()
	var share atomic.Uint64
	use := func(part float64) { share.Store(math.Float64bits(part)) }
	f := serve(t, realtime.Options{
		MaxQueue: 256 << 20, WriteTimeout: time.Minute,
		Memory: func() float64 { return math.Float64frombits(share.Load()) },
	})
	quick, slow := connect(t, f.url, ""), connect(t, f.url, "")
	slow.subscribe("1", "subscription ticks")
	eventually(t, "it is subscribed", func() bool { return f.engine.subscribers() == 1 })
	filler := strings.Repeat("x", 1<<20)
	for range 32 { // more than the system buffers
		f.engine.emit(filler)
	}
	use(0.86)
	eventually(t, "sockets are refused", func() bool { return f.hub.Stats().Short })
	dial(t, f.url).expectClose(1013)
	if e := post(t, f.url, "query who", nil); e.resp.StatusCode != http.StatusServiceUnavailable || e.resp.Header.Get("Retry-After") == "" {
		t.Errorf("a stream: %s", e.resp.Status)
	}
	if n := f.hub.Stats().Sockets; n != 2 {
		t.Errorf("%d sockets are left", n)
	}
	use(0.95)
	eventually(t, "the slow one is cut off", func() bool { s := f.hub.Stats(); return s.Sockets == 1 && s.Overflowed == 1 })
	use(0.82)
	quick.subscribe("1", "query who")
	quick.expect(`{"id":"1","type":"next","payload":{"data":{"who":""}}}`)
	if !f.hub.Stats().Short {
		t.Error("it takes others before there is more memory again")
	}
	if err := f.hub.Crowded(); err != nil {
		t.Errorf("nothing is to be sent here (%v), and nowhere else either, since all are short of memory together", err)
	}
	use(0.5)
	eventually(t, "it takes others", func() bool { return !f.hub.Stats().Short })
	connect(t, f.url, "")
}

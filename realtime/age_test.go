package realtime_test

import (
	"testing"
	"time"

	"tidings/realtime"
)

// Connections that came together are let go one after the other, each before it
// is older than it may be, and with all that was there for them.
func TestConnectionsAreLetGoAtAnAgeOfTheirOwn(t *testing.T) {
	t.Parallel()
	const age, each = 2 * time.Second, 20
	f := serve(t, realtime.Options{MaxAge: age})
	began := time.Now()
	ended := make(chan time.Duration, 2*each)
	for range each {
		c := connect(t, f.url, "")
		c.subscribe("1", "subscription ticks")
		e := post(t, f.url, "subscription ticks", nil)
		go func() {
			for {
				if _, err := c.read(); err != nil {
					ended <- time.Since(began)
					return
				}
			}
		}()
		go func() {
			for {
				if _, err := e.next(); err != nil {
					ended <- time.Since(began)
					return
				}
			}
		}()
	}
	eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == 2*each })
	f.engine.emit("")
	var first, last time.Duration
	for n := range 2 * each {
		last = <-ended
		if n == 0 {
			first = last
		}
	}
	if first < age/2 {
		t.Errorf("the first was let go after %s", first)
	}
	if last-first < age/8 {
		t.Errorf("all were let go between %s and %s", first, last)
	}
	connect(t, f.url, "")
}

package client

import (
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"
)

// pauses are the waits between connections that come to nothing: from a quarter of
// a second, doubled each time up to a longest one, and somewhere between half of it
// and all of it, so that clients which were cut off together do not come together.
// The zero value is ready.
type pauses struct{ failed int }

const (
	firstPause = 250 * time.Millisecond
	mostPause  = 30 * time.Second
	// nearPause is the longest one while a service of this machine is started again,
	// before which somebody sits and looks.
	nearPause = 2 * time.Second
)

// next is the wait before the next try, and at least what was asked for.
func (p *pauses) next(asked, longest time.Duration) time.Duration {
	most := min(firstPause<<min(p.failed, 10), longest)
	p.failed++
	jitter := most/2 + rand.N(most/2)
	if asked > jitter {
		return asked + rand.N(most)
	}
	return jitter
}

// over says that a connection has worked.
func (p *pauses) over() { p.failed = 0 }

// longest is the longest pause after a loss. It is short where nobody listens at an
// address of this machine, or who does says when to come: nobody else waits for that
// one, so there is no crowd that could come together. A proxy beside a client listens,
// and says so only when the service behind it does.
func (w *watching) longest(l *lost) time.Duration {
	if l.starting && loopback(w.URL) {
		return nearPause
	}
	return mostPause
}

// loopback reports whether a URL leads to this machine.
func loopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

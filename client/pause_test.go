package client

import (
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestPausesGrowAreBoundedAndDiffer(t *testing.T) {
	t.Parallel()
	var p pauses
	seen := map[time.Duration]bool{}
	for i := range 20 {
		most := min(firstPause<<min(i, 10), mostPause)
		if d := p.next(0, mostPause); d < most/2 || d > most {
			t.Errorf("%d: %s, with %s at most", i, d, most)
		} else {
			seen[d] = true
		}
	}
	if len(seen) < 15 {
		t.Errorf("clients would come together: %v", seen)
	}
	p.over()
	if d := p.next(0, mostPause); d > firstPause {
		t.Errorf("after a connection that worked: %s", d)
	}
	if d := p.next(time.Minute, mostPause); d < time.Minute {
		t.Errorf("a minute was asked for: %s", d)
	}
}

// Who starts a service again is not kept waiting, and nobody else comes sooner.
func TestPausesStayShortOnlyWhileAServiceOfThisMachineStarts(t *testing.T) {
	t.Parallel()
	const near, far = "http://localhost:8080/graphql", "https://api.example.com/graphql"
	refused := unanswered(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	status := func(code int, after string) *lost {
		l, _ := errors.AsType[*lost](answered(&http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}}, nil))
		return l
	}
	for _, c := range []struct {
		name string
		url  string
		lost *lost
		want time.Duration
	}{
		{"nobody listens here", near, refused, nearPause},
		{"nor at this number", "http://127.0.0.1:1/graphql", refused, nearPause},
		{"nor at that one", "http://[::1]:1/graphql", refused, nearPause},
		{"it starts", near, status(503, "1"), nearPause},
		{"a proxy beside the client has nobody behind it", near, status(503, ""), mostPause},
		{"it is busy", near, status(429, "1"), mostPause},
		{"the connection broke", near, &lost{why: "broken"}, mostPause},
		{"nobody listens there", far, refused, mostPause},
		{"it starts there", far, status(503, "1"), mostPause},
		{"another name", "http://localhost.example.com/graphql", refused, mostPause},
	} {
		w := &watching{Service: &Service{URL: c.url}}
		if got := w.longest(c.lost); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	var p pauses
	for range 20 {
		if d := p.next(time.Second, nearPause); d < nearPause/16 || d > time.Second+nearPause {
			t.Errorf("%s", d)
		}
	}
}

func TestRetryAfterIsSecondsOrATime(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999": maxAfter,
		"Tue, 01 Jan 2030 12:00:09 GMT": 9 * time.Second, "Tue, 01 Jan 2030 11:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

package client

import (
	"net/http"
	"testing"
	"time"
)

func TestPausesGrowAreBoundedAndDiffer(t *testing.T) {
	t.Parallel()
	var p pauses
	seen := map[time.Duration]bool{}
	for i := range 20 {
		most := min(firstPause<<min(i, 10), mostPause)
		if d := p.next(0); d < most/2 || d > most {
			t.Errorf("%d: %s, with %s at most", i, d, most)
		} else {
			seen[d] = true
		}
	}
	if len(seen) < 15 {
		t.Errorf("clients would come together: %v", seen)
	}
	p.over()
	if d := p.next(0); d > firstPause {
		t.Errorf("after a connection that worked: %s", d)
	}
	if d := p.next(time.Minute); d < time.Minute {
		t.Errorf("a minute was asked for: %s", d)
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

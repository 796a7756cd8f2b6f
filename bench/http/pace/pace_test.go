package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

func TestRequestsAreDueAtTheirRate(t *testing.T) {
	t.Parallel()
	for _, arrivals := range []string{"even", "poisson"} {
		o := options{arrivals: arrivals, rate: 1000, seconds: 9, warm: 1}
		times := due(o)
		if n := len(times); n < 9500 || n > 10500 {
			t.Errorf("%s: %d requests in 10 s at 1000/s", arrivals, n)
		}
		if again := due(o); len(again) != len(times) || again[100] != times[100] {
			t.Errorf("%s: another run is due at other times", arrivals)
		}
	}
}

// A server that pauses once is late for all who come meanwhile, not for one.
func TestAPauseIsSeenByAllWhoWereDue(t *testing.T) {
	t.Parallel()
	const pause = 200 * time.Millisecond
	first := make(chan struct{}, 1)
	first <- struct{}{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-first:
			select { // what is measured: the server does nothing for so long
			case <-time.After(pause):
			case <-r.Context().Done():
			}
		default:
		}
		w.Write([]byte(`{"data":{}}`))
	}))
	defer srv.Close()
	o := options{kind: "object", arrivals: "even", rate: 500, seconds: 1, connections: 1}
	u, err := url.Parse(srv.URL + "/graphql")
	if err != nil {
		t.Fatal(err)
	}
	next, err := requests(o, u)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dial(u.Host, o.connections)
	if err != nil {
		t.Fatal(err)
	}
	times := due(o)
	l.send(times, next)
	late := 0
	answers := l.wait()
	for _, a := range answers {
		if a.failed {
			t.Fatal("a request failed")
		}
		if a.took > pause/2 {
			late++
		}
	}
	if len(answers) != len(times) || late < 40 {
		t.Errorf("%d answers to %d requests, %d of them late, want about 50 or more", len(answers), len(times), late)
	}
}

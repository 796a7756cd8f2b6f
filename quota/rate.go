package quota

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is how much one caller may do in a minute: so many requests, and so many
// units of cost, whichever is reached first. Zero means no limit. A caller who
// has been quiet may use a minute's worth at once; what is used comes back
// evenly.
type Rate struct {
	Requests, Cost int
}

// ParseRate reads a rate as settings have it: "100/100000" for requests and
// cost, "100" for requests alone, "0" for no limit. Nothing means no limit too.
func ParseRate(s string) (Rate, error) {
	requests, cost, both := strings.Cut(strings.TrimSpace(s), "/")
	var r Rate
	var err error
	if requests != "" {
		r.Requests, err = strconv.Atoi(requests)
	}
	if both && err == nil {
		r.Cost, err = strconv.Atoi(cost)
	}
	if err != nil || r.Requests < 0 || r.Cost < 0 || max(r.Requests, r.Cost) > 1e9 {
		return Rate{}, fmt.Errorf("%.40q is not a rate: write requests and cost units a minute such as 100/100000, or 0 for no limit", s)
	}
	return r, nil
}

// String returns the rate in words for the caller.
func (r Rate) String() string {
	switch {
	case r.Cost == 0:
		return strconv.Itoa(r.Requests) + " requests"
	case r.Requests == 0:
		return strconv.Itoa(r.Cost) + " units of cost"
	}
	return strconv.Itoa(r.Requests) + " requests or " + strconv.Itoa(r.Cost) + " units of cost"
}

// counts is how much was used.
type counts struct{ requests, cost int64 }

// usage is what one caller has used: the generic cell rate algorithm (GCRA).
// Each unit moves a moment on by the time in which it comes back; whoever is a
// minute ahead of now has used up what a minute allows.
type usage struct {
	requests, cost int64  // moments, in nanoseconds: see Limiter.moment
	untold         counts // what the other processes do not know yet
}

const window = int64(time.Minute)

// take notes the use, or returns how long to wait with it and notes nothing.
func (u *usage) take(rate Rate, n counts, now int64) time.Duration {
	requests, cost := step(n.requests, rate.Requests), step(n.cost, rate.Cost)
	wait := max(beyond(u.requests, requests, rate.Requests, now), beyond(u.cost, cost, rate.Cost, now))
	if wait > 0 {
		return time.Duration(wait)
	}
	u.requests, u.cost = max(u.requests, now)+requests, max(u.cost, now)+cost
	return 0
}

// add notes what another process has let pass. Two minutes ahead is the most:
// nobody is shut out for longer.
func (u *usage) add(rate Rate, n counts, now int64) {
	u.requests = min(max(u.requests, now)+step(n.requests, rate.Requests), now+2*window)
	u.cost = min(max(u.cost, now)+step(n.cost, rate.Cost), now+2*window)
}

// until is when everything has come back.
func (u *usage) until() int64 { return max(u.requests, u.cost) }

// step is the time in which n units come back.
func step(n int64, rate int) int64 {
	if rate == 0 {
		return 0
	}
	return int64(min(float64(n)*float64(window)/float64(rate), float64(10*window)))
}

// beyond is how long to wait until the step keeps within the window. A step
// that is longer than the window is allowed when nothing is used.
func beyond(at, step int64, rate int, now int64) int64 {
	if rate == 0 || at <= now {
		return 0
	}
	return max(0, min(at+step-window, at)-now)
}

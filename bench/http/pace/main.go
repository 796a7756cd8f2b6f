// Command pace loads a server with requests at times of their own: an open loop,
// in which a slow answer holds up no other request's beginning. Every latency
// counts from the moment at which the request was due, also when no connection
// was free then. It prints one line:
//
//	result answers/s p50 p99 p99.9 failed late
//
// the latencies in microseconds; late is the 99th percentile of how long after
// its due time this program itself came to send a request, which is its own
// fault (or that of a machine that others use) and is within the latencies.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

type options struct {
	kind, token, hash, arrivals string
	rate                        float64
	seconds, warm               int
	connections                 int
}

func main() {
	var o options
	flag.StringVar(&o.kind, "case", "object", "object, list, apq, post or user")
	flag.StringVar(&o.token, "token", "", "bearer token")
	flag.StringVar(&o.hash, "hash", "", "of the registered text, for apq")
	flag.StringVar(&o.arrivals, "arrivals", "even", "even: at equal distances; poisson: independent of each other")
	flag.Float64Var(&o.rate, "rate", 1000, "requests a second")
	flag.IntVar(&o.seconds, "seconds", 5, "how long")
	flag.IntVar(&o.connections, "connections", 64, "how many requests may be under way")
	flag.IntVar(&o.warm, "warm", 1, "seconds before that which do not count")
	flag.Parse()
	// One thread sleeps until requests are due, others read answers, all on the
	// load's core, and no collection comes between.
	runtime.GOMAXPROCS(4)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(1 << 30)
	if err := run(o, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "pace:", err)
		os.Exit(1)
	}
}

func run(o options, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if o.rate <= 0 || o.seconds <= 0 || o.connections <= 0 {
		return errors.New("-rate, -seconds and -connections must be above 0")
	}
	next, err := requests(o, u)
	if err != nil {
		return err
	}
	l, err := dial(u.Host, o.connections)
	if err != nil {
		return err
	}
	late := l.send(due(o), next)
	report(o, l.wait(), late)
	return nil
}

// due returns when the requests are due, from the beginning on: the same for
// every server.
func due(o options) []time.Duration {
	random := rand.New(rand.NewPCG(1, 2))
	gap := float64(time.Second) / o.rate
	end := float64(time.Duration(o.seconds+o.warm) * time.Second)
	var times []time.Duration
	for at := gap; at < end; {
		times = append(times, time.Duration(at))
		if o.arrivals == "poisson" {
			at += gap * random.ExpFloat64()
		} else {
			at += gap
		}
	}
	return times
}

// report leaves out what was due while the server got warm.
func report(o options, answers []answer, late []time.Duration) {
	warm := time.Duration(o.warm) * time.Second
	var took []time.Duration
	failed := 0
	for _, a := range answers {
		switch {
		case a.due < warm:
		case a.failed:
			failed++
		default:
			took = append(took, a.took)
		}
	}
	fmt.Printf("result %d %d %d %d %d %d\n", len(took)/o.seconds,
		percentile(took, 0.5), percentile(took, 0.99), percentile(took, 0.999), failed, percentile(late, 0.99))
}

func percentile(all []time.Duration, p float64) int64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(p*float64(len(all)-1))].Microseconds()
}

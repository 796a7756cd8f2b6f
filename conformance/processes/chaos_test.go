//go:build conformance

package processes

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	kills = flag.Int("kills", 8, "how many processes TestNothingIsMissedWhateverIsKilled kills")
	seed  = flag.Uint64("seed", 0, "its choices; 0: others each time")
)

// Any process may die at any time, also while another one is away. To look for
// rare faults, run it for long: -run Whatever -kills 200 -timeout 30m.
func TestNothingIsMissedWhateverIsKilled(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("to repeat the choices: -kills %d -seed %d", *kills, *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	c := startCluster(t)
	l := startLoad(t, c)
	all := []*process{c.nats, c.apis[0].process, c.apis[1].process, c.workers[0], c.workers[1]}
	for range *kills {
		victims := random.Perm(len(all))[:1+random.IntN(2)]
		for _, i := range victims {
			all[i].kill(t)
			pause(t.Context(), time.Duration(random.Int64N(int64(200*time.Millisecond)))) // for how long the fault lasts
		}
		slices.Sort(victims)
		for _, i := range victims {
			all[i].run(t)
			if i == 0 {
				c.nats.waitReady(t) // the others do not start without it
			}
		}
		for _, p := range all {
			p.waitReady(t)
		}
		l.writers.progress(t, 5+random.IntN(60))
	}
	l.finish(t)
}

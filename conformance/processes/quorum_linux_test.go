//go:build conformance

package processes

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The server that leads the log is cut off from the two others, and with it an
// api and maybe a worker. The others choose another leader and go on; nothing
// that was acknowledged is lost, and what the old leader may have taken without
// them is shown by nobody.
func TestNothingIsMissedWhileTheLeaderOfTheLogIsCutOff(t *testing.T) {
	inNetwork(t, func(n *network) {
		urls := n.busCluster(func(string) string { return t.TempDir() }, nil).urls
		c := &cluster{data: t.TempDir(), bus: strings.Join(urls, ",")}
		for i, url := range urls {
			c.workers = append(c.workers, n.program(c, "worker", fmt.Sprint("worker", i+1), url, "--replicas", "3"))
			c.apis = append(c.apis, n.api(c, fmt.Sprint("api", i+1), url, "--replicas", "3"))
		}
		l := startLoad(t, c)
		leader := n.leader().host
		each := func(f func(from, to string)) {
			for i := range urls {
				if other := fmt.Sprint("nats", i+1); other != leader {
					f(leader, other)
					f(other, leader)
				}
			}
		}
		each(n.lose)
		pause(t.Context(), 2*time.Second)
		l.writers.progress(t, 40)
		each(n.heal)
		for _, a := range c.apis {
			a.waitReady(t)
		}
		l.finish(t)
	})
}

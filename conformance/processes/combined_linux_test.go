//go:build conformance

package processes

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// combined are faults that cut the installation in uncommon places, happen at
// once, come and go, or take what a server of the bus has stored.
func combined() []fault {
	type in = *installation
	return []fault{
		{name: "a worker | the leader", begin: func(i in) func() { return i.cut(hosts(i.worker()), hosts(i.net.leader()), true) }},
		{name: "an api | the leader", begin: func(i in) func() { return i.cut(hosts(i.api()), hosts(i.net.leader()), true) }},
		{name: "leader and an api | everything else", begin: func(i in) func() { return i.apart(i.net.leader(), i.api()) }},
		{name: "leader and a worker | everything else", begin: func(i in) func() { return i.apart(i.net.leader(), i.worker()) }},
		{name: "leader and half the service | the other half", begin: func(i in) func() {
			return i.apart(i.net.leader(), i.workers[0], i.apis[0].process)
		}},
		{name: "followers and half the service | the other half", begin: func(i in) func() {
			return i.apart(append(i.bus.others(i.net.leader()), i.workers[1], i.apis[1].process)...)
		}},
		{name: "workers to bus is lost", begin: func(i in) func() { return i.cut(hosts(i.workers...), hosts(i.bus.all...), false) }},
		{name: "bus to apis is lost", begin: func(i in) func() {
			return i.cut(hosts(i.bus.all...), hosts(i.apis[0].process, i.apis[1].process), false)
		}},
		{name: "one worker | leader, the other hears and is not heard", begin: func(i in) func() {
			return together(i.cut(hosts(i.workers[0]), hosts(i.net.leader()), true), i.cut(hosts(i.workers[1]), hosts(i.bus.all...), false))
		}},
		{name: "the leader is killed, and a worker during the election", begin: func(i in) func() {
			leader := i.killed(i.net.leader())
			pause(i.net.t.Context(), time.Second)
			return together(leader, i.killed(i.worker()))
		}},
		{name: "the leader is killed, and an api during the election", begin: func(i in) func() {
			leader := i.killed(i.net.leader())
			pause(i.net.t.Context(), time.Second)
			return together(leader, i.killed(i.api()))
		}},
		{name: "a worker pauses, and the leader is killed meanwhile", begin: func(i in) func() {
			return together(i.paused(i.worker()), i.killed(i.net.leader()))
		}},
		{name: "the leader is cut off, and a follower pauses", begin: func(i in) func() {
			l := i.net.leader()
			return together(i.cut(hosts(l), i.but(l), true), i.paused(i.bus.others(l)[0]))
		}},
		{name: "two servers are killed", begin: func(i in) func() { return together(i.killed(i.bus.all[0]), i.killed(i.bus.all[1])) }},
		{name: "all servers are killed at once", begin: func(i in) func() {
			return together(i.killed(i.bus.all[0]), i.killed(i.bus.all[1]), i.killed(i.bus.all[2]))
		}},
		{name: "both workers are killed", begin: func(i in) func() { return together(i.killed(i.workers[0]), i.killed(i.workers[1])) }},
		{name: "leader | followers, now and then", flaps: true, begin: func(i in) func() {
			l := i.net.leader()
			return i.cut(hosts(l), hosts(i.bus.others(l)...), true)
		}},
		{name: "a server | everything, now and then", flaps: true, begin: func(i in) func() {
			s := i.bus.all[i.random.IntN(3)]
			return i.cut(hosts(s), i.but(s), i.random.IntN(2) == 0)
		}},
		{name: "api | bus, now and then", flaps: true, begin: func(i in) func() { return i.cut(hosts(i.api()), hosts(i.bus.all...), true) }},
		{name: "worker | bus, now and then", flaps: true, begin: func(i in) func() { return i.cut(hosts(i.worker()), hosts(i.bus.all...), true) }},
		{name: "the leader resigns, now and then", flaps: true, begin: func(i in) func() { i.resign(); return func() {} }},
		{name: "a follower starts with an empty store", begin: func(i in) func() { return i.emptied(i.follower()) }},
	}
}

// flap is how long a fault that comes and goes is there, and how long it is not.
const flap = time.Second

// lasting lets a fault happen for as long as it is to.
func (in *installation) lasting(t testing.TB, f fault) {
	t.Helper()
	lasts := f.length()
	if !f.flaps {
		if end := f.begin(in); end != nil {
			pause(t.Context(), lasts)
			end()
		}
		return
	}
	for over := time.Now().Add(lasts); time.Now().Before(over); pause(t.Context(), flap) {
		end := f.begin(in)
		pause(t.Context(), flap)
		end()
	}
}

// together ends several faults.
func together(ends ...func()) (end func()) {
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// apart are processes that are cut off, together, from all others of the service
// and of the bus.
func (in *installation) apart(list ...*process) (end func()) {
	inside := hosts(list...)
	outside := slices.DeleteFunc(hosts(in.all()...), func(host string) bool { return slices.Contains(inside, host) })
	return in.cut(inside, outside, true)
}

// resign lets the leader of the log give that up.
func (in *installation) resign() {
	t := in.net.t
	nc, err := nats.Connect(in.cluster.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.tidings-log", nil, 5*time.Second); err != nil {
		t.Logf("the leader does not resign just now: %v", err)
	}
}

// emptied is a server of the bus that is killed, and has lost all that it had
// stored when it starts again.
func (in *installation) emptied(p *process) (end func()) {
	t := in.net.t
	start := in.killed(p)
	stored, err := filepath.Glob(filepath.Join(in.disks[p.host].dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stored {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	return start
}

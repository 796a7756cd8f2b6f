//go:build conformance

package processes

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	faultsFlag = flag.String("faults", "", "which faults TestNothingIsLostWhateverFails injects: a regular expression; empty: a few")
	each       = flag.Duration("each", 4*time.Second, "for how long each lasts that has no length of its own")
)

// fault is something that fails while a load is on, and is well again later.
type fault struct {
	name  string
	short bool          // one of the few
	lasts time.Duration // zero: as the flag says
	// crash: a server of the bus ends. Then writes are possible again, and events
	// come, within what an election takes.
	crash bool
	flaps bool // it comes and goes
	// begin lets it happen, and returns what ends it. Nil: it ends by itself.
	begin func(*installation) (end func())
}

// length is for how long it lasts.
func (f fault) length() time.Duration { return cmp.Or(f.lasts, *each) }

// installation is a service on hosts of their own, with a bus of three servers
// that keeps three copies.
type installation struct {
	*cluster
	net    *network
	bus    *servers
	disks  map[string]*disk // small ones, by host
	slow   map[string]*slowDisk
	fresh  *api // reads everything anew, each time
	random *rand.Rand
}

func (n *network) installation() *installation {
	t := n.t
	in := &installation{cluster: &cluster{data: t.TempDir()}, net: n, disks: map[string]*disk{}, slow: map[string]*slowDisk{}}
	if old := filepath.Join(bin, before, "nats-server"); exists(old) {
		n.natsPath = old
	}
	begin := map[string]func(*exec.Cmd) error{}
	if canBeSlow(t) {
		for _, host := range []string{"nats1", "nats2", "nats3"} {
			in.slow[host] = &slowDisk{}
			begin[host] = in.slow[host].start
		}
	}
	in.bus = n.busCluster(func(host string) string { return in.disk(host, 192) }, begin)
	in.cluster.bus = strings.Join(in.bus.urls, ",")
	more := []string{"--replicas", "3", "--history", "1000000"}
	for i := range 2 {
		in.workers = append(in.workers, n.program(in.cluster, "worker", fmt.Sprint("worker", i+1), in.cluster.bus, more...))
	}
	in.apis = []*api{
		n.api(in.cluster, "api1", in.cluster.bus, append(more, "--view", in.disk("api1", 160))...),
		n.api(in.cluster, "api2", in.cluster.bus, more...),
	}
	return in
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// disk makes a file system of so many MiB for a host.
func (in *installation) disk(host string, size int) (dir string) {
	t := in.net.t
	dir = t.TempDir()
	in.net.run("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", size), "none", dir)
	t.Cleanup(func() { in.net.run("umount", "--lazy", dir) })
	in.disks[host] = &disk{dir}
	return dir
}

// disk is a file system that can be filled.
type disk struct{ dir string }

// fill takes what is free.
func (d *disk) fill(t testing.TB) {
	t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 512; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

func (d *disk) empty(t testing.TB) {
	t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		t.Error(err)
	}
}

// all are the processes of the service and of the bus.
func (in *installation) all() []*process {
	return slices.Concat(in.bus.all, in.workers, []*process{in.apis[0].process, in.apis[1].process})
}

// well waits until everything is ready.
func (in *installation) well(t testing.TB) {
	t.Helper()
	in.bus.waitHealthy(t, time.Minute)
	for _, p := range in.all() {
		p.mustRun(t)
		p.waitReady(t)
	}
}

// killed is a process that ends, and is started again when the fault ends.
func (in *installation) killed(p *process) (end func()) {
	p.kill(in.net.t)
	return func() { p.run(in.net.t) }
}

// paused is a process that does nothing for a while, and does not know it.
func (in *installation) paused(p *process) (end func()) {
	cmd, _ := p.running()
	signal := func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			in.net.t.Errorf("%s: %v", p.name, err)
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// cut are hosts of which each of the first sends to none of the others what
// arrives; both: and the other way round.
func (in *installation) cut(from, to []string, both bool) (end func()) {
	rules := func(rule func(from, to string)) {
		for _, f := range from {
			for _, other := range to {
				rule(f, other)
				if both {
					rule(other, f)
				}
			}
		}
	}
	rules(in.net.lose)
	return func() { rules(in.net.heal) }
}

func hosts(list ...*process) (names []string) {
	for _, p := range list {
		names = append(names, p.host)
	}
	return names
}

// but are the hosts of all processes but one.
func (in *installation) but(p *process) []string {
	return slices.DeleteFunc(hosts(in.all()...), func(host string) bool { return host == p.host })
}

func (in *installation) follower() *process {
	others := in.bus.others(in.net.leader())
	return others[in.random.IntN(len(others))]
}

func (in *installation) worker() *process { return in.workers[in.random.IntN(len(in.workers))] }
func (in *installation) api() *process    { return in.apis[in.random.IntN(len(in.apis))].process }

// faults in the order in which they happen.
func faults() []fault {
	type in = *installation
	list := []fault{
		{name: "the servers are upgraded, one after another", begin: func(i in) func() { i.upgrade(); return nil }},
		{name: "a worker is killed", short: true, begin: func(i in) func() { return i.killed(i.workers[0]) }},
		{name: "the other worker is killed", begin: func(i in) func() { return i.killed(i.workers[1]) }},
		{name: "an api is killed", short: true, begin: func(i in) func() { return i.killed(i.apis[0].process) }},
		{name: "the other api is killed", begin: func(i in) func() { return i.killed(i.apis[1].process) }},
		{name: "the leader of the log is killed", short: true, crash: true, begin: func(i in) func() { return i.killed(i.net.leader()) }},
		{name: "a follower of the log is killed", crash: true, begin: func(i in) func() { return i.killed(i.follower()) }},
		{name: "all servers are killed, one after another", crash: true, begin: func(i in) func() {
			for n, p := range i.bus.all {
				i.killed(p)()
				i.bus.waitHealthy(i.net.t, time.Minute)
				if n < 2 {
					pause(i.net.t.Context(), time.Second)
				}
			}
			return nil
		}},
		{name: "leader | followers", short: true, begin: func(i in) func() {
			l := i.net.leader()
			return i.cut(hosts(l), hosts(i.bus.others(l)...), true)
		}},
		{name: "leader | everything", begin: func(i in) func() { l := i.net.leader(); return i.cut(hosts(l), i.but(l), true) }},
		{name: "the leader sends and does not receive", short: true, begin: func(i in) func() { l := i.net.leader(); return i.cut(i.but(l), hosts(l), false) }},
		{name: "the leader receives and does not send", begin: func(i in) func() { l := i.net.leader(); return i.cut(hosts(l), i.but(l), false) }},
		{name: "a follower sends and does not receive", begin: func(i in) func() { f := i.follower(); return i.cut(i.but(f), hosts(f), false) }},
		{name: "leader | one follower", begin: func(i in) func() { l := i.net.leader(); return i.cut(hosts(l), hosts(i.bus.others(l)[0]), true) }},
		{name: "every server | every other", begin: func(i in) func() {
			one := i.cut(hosts(i.bus.all[0]), hosts(i.bus.all[1:]...), true)
			two := i.cut(hosts(i.bus.all[1]), hosts(i.bus.all[2]), true)
			return func() { one(); two() }
		}},
		{name: "api | bus", begin: func(i in) func() { return i.cut(hosts(i.api()), hosts(i.bus.all...), true) }},
		{name: "bus to api is lost", begin: func(i in) func() { return i.cut(hosts(i.bus.all...), hosts(i.api()), false) }},
		{name: "worker | bus", begin: func(i in) func() { return i.cut(hosts(i.worker()), hosts(i.bus.all...), true) }},
		{name: "worker to bus is lost", begin: func(i in) func() { return i.cut(hosts(i.worker()), hosts(i.bus.all...), false) }},
	}
	for _, long := range []time.Duration{3 * time.Second, 12 * time.Second, 40 * time.Second} {
		list = append(list,
			fault{name: fmt.Sprintf("the leader pauses for %s", long), short: long < 10*time.Second, lasts: long, begin: func(i in) func() { return i.paused(i.net.leader()) }},
			fault{name: fmt.Sprintf("a follower pauses for %s", long), lasts: long, begin: func(i in) func() { return i.paused(i.follower()) }},
			fault{name: fmt.Sprintf("a worker pauses for %s", long), lasts: long, begin: func(i in) func() { return i.paused(i.worker()) }},
			fault{name: fmt.Sprintf("an api pauses for %s", long), lasts: long, begin: func(i in) func() { return i.paused(i.api()) }},
		)
	}
	list = append(list,
		fault{name: "the disk of the leader is full", short: true, begin: func(i in) func() { return i.storeFull(i.net.leader()) }},
		fault{name: "the disk of a follower is full", begin: func(i in) func() { return i.storeFull(i.follower()) }},
		fault{name: "the disk of a view is full", short: true, begin: func(i in) func() { return i.full(i.apis[0].process) }},
		fault{name: "the disk of the leader is slow", begin: func(i in) func() { return i.slowed(i.net.leader()) }},
	)
	return append(list, combined()...)
}

func (in *installation) full(p *process) (end func()) {
	d := in.disks[p.host]
	d.fill(in.net.t)
	return func() { d.empty(in.net.t) }
}

// before is the version of NATS from which the servers are upgraded.
const before = "v2.12.15"

// buildBefore builds it where the others are that were built.
func buildBefore(t *testing.T) {
	t.Helper()
	cmd := exec.Command("go", "install", "github.com/nats-io/nats-server/v2@"+before)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+filepath.Join(bin, before))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("the servers are replaced by others of the same version, since %s cannot be built: %v\n%s", before, err, out)
	}
}

// upgrade replaces one server after the other as docs/operations.md says: in lame
// duck mode it lets go of what it leads and of its clients, and ends by itself.
func (in *installation) upgrade() {
	t := in.net.t
	for _, p := range in.bus.all {
		cmd, _ := p.running()
		in.net.run(program("nats-server"), "--signal", fmt.Sprintf("ldm=%d", cmd.Process.Pid))
		p.exit(t, time.Minute)
		p.path = ""
		p.run(t)
		in.bus.waitHealthy(t, time.Minute)
	}
}

// storeFull is a full disk of a server of the bus. It stops keeping anything until
// it is started again.
func (in *installation) storeFull(p *process) (end func()) {
	empty := in.full(p)
	return func() { empty(); in.killed(p)() }
}

// Whatever fails, for however long: what was acknowledged is in the log once,
// unique values are, every subscriber was told of everything once and in order,
// and all views show what the log says.
func TestNothingIsLostWhateverFails(t *testing.T) {
	chosen, err := chosenFaults()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(insideVariable) == "" && slices.ContainsFunc(chosen, func(f fault) bool { return strings.Contains(f.name, "upgraded") }) {
		buildBefore(t)
	}
	most := time.Duration(len(chosen))*(*each+90*time.Second) + 3*time.Minute
	inNetworkFor(t, most, func(n *network) {
		in := n.installation()
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		t.Logf("to repeat the choices: -seed %d", *seed)
		in.random = rand.New(rand.NewPCG(*seed, 1))
		table := newTable()
		for i, f := range chosen {
			t.Run(f.name, func(t *testing.T) { table.add(f.name, in.suffer(t, f, fmt.Sprint("f", i))) })
		}
		t.Logf("%s", table.text())
	})
}

func chosenFaults() (list []fault, err error) {
	pattern, err := regexp.Compile(*faultsFlag)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(faults(), func(f fault) bool {
		return *faultsFlag == "" && !f.short || !pattern.MatchString(f.name)
	}), nil
}

// measured is what a fault has come to.
type measured struct {
	count
	gap, outage time.Duration
}

// suffer puts a load on, lets the fault happen, and counts.
func (in *installation) suffer(t *testing.T, f fault, name string) (m measured) {
	in.well(t)
	load := startMixed(t, in.cluster, name)
	load.posts.expect(f.length())
	load.users.expect(f.length())
	began := time.Now()
	in.lasting(t, f)
	load.writers.progress(t, 30)
	until := time.Now()
	in.well(t)
	load.finish(t)
	m.count = load.audit(t)
	in.checkFresh(t, load)
	m.gap = max(load.onPosts.gap(load.posts), load.onUsers.gap(load.users))
	m.outage = load.posts.outage(began, until)
	t.Logf("%+v; failures %v %v", m, load.posts.failures, load.users.failures)
	if f.crash && (m.gap > inTime || m.outage > inTime) {
		t.Errorf("an acknowledged write was not told of for %s, and no write was acknowledged for %s; more than %s after the crash of a server is too long", m.gap, m.outage, inTime)
	}
	return m
}

// inTime is within what everything goes on after the crash of a server of the bus.
const inTime = 10 * time.Second

// checkFresh compares an api that has just read the whole log.
func (in *installation) checkFresh(t *testing.T, load *mixed) {
	t.Helper()
	if in.fresh == nil {
		in.fresh = in.net.api(in.cluster, "fresh", in.cluster.bus, "--replicas", "3", "--history", "1000000")
	} else {
		in.fresh.restart(t)
	}
	defer in.fresh.kill(t)
	checkView(t, in.fresh, load.admin, func() map[string]stored { return newest(in.readStored(t, "tidings.log.>")) })
}

// table shows what each fault has come to.
type table struct {
	rows strings.Builder
	w    *tabwriter.Writer
}

func newTable() *table {
	b := &table{}
	b.w = tabwriter.NewWriter(&b.rows, 0, 0, 1, ' ', 0)
	fmt.Fprintln(b.w, "| fault\t| writes acknowledged\t| lost\t| doubled\t| events\t| gaps\t| doubles\t| longest delivery gap\t| longest write outage\t|")
	fmt.Fprintln(b.w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	return b
}

func (b *table) add(name string, m measured) {
	fmt.Fprintf(b.w, "| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %.1f s\t| %.1f s\t|\n",
		name, m.acked, m.lost, m.doubled, m.events, m.gaps, m.doubles, m.gap.Seconds(), m.outage.Seconds())
}

func (b *table) text() string {
	b.w.Flush()
	return "\n" + b.rows.String()
}

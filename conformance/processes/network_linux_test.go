//go:build conformance

package processes

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// network is one of the test's own: hosts that a router connects, which can
// silently drop what one of them sends to another. Nobody is told of it: no
// connection is refused or reset.
//
// Each host is a network namespace. All of them lie inside of namespaces of the
// process that tests, so that nothing of them outlives it, however it ends.
type network struct {
	t       *testing.T
	addrs   map[string]string // of hosts, by name
	servers *servers          // nil: there is no cluster of them
	// natsPath is that of the servers of another version; empty: they are of the one that was built.
	natsPath string
}

// self is the host where the test itself is.
const self = "test"

// insideVariable tells a process that it is the one inside.
const insideVariable = "TIDINGS_TEST_INSIDE"

// inNetwork runs f in a process with a network of its own: the test calls it
// first and does nothing else. It skips the test where there can be none.
func inNetwork(t *testing.T, f func(*network)) {
	t.Helper()
	if os.Getenv(insideVariable) == "" {
		t.Parallel()
	}
	inNetworkFor(t, 2*time.Minute, f)
}

// inNetworkFor does so for as long, and beside no other test.
func inNetworkFor(t *testing.T, most time.Duration, f func(*network)) {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		f(newNetwork(t))
		return
	}
	for _, tool := range []string{"ip", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there can be no network of the test's own: %v; install Debian's packages iproute2 and mount", err)
		}
	}
	args := []string{"-test.run", "^" + t.Name() + "$", "-test.v", "-test.timeout", most.String()}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	inside := exec.CommandContext(t.Context(), os.Args[0], args...)
	inside.Env = append(os.Environ(), insideVariable+"=1", binVariable+"="+bin)
	inside.SysProcAttr = ownNamespaces()
	var out bytes.Buffer
	inside.Stdout, inside.Stderr = &out, &out
	if testing.Verbose() { // somebody watches
		inside.Stdout, inside.Stderr = io.MultiWriter(&out, os.Stderr), io.MultiWriter(&out, os.Stderr)
	}
	if err := inside.Start(); err != nil {
		t.Skipf("there can be no network of the test's own: %v; run it as root, or allow user namespaces", err)
	}
	err := inside.Wait()
	if !testing.Verbose() {
		t.Logf("inside:\n%s", tail(out.String(), 20_000))
	}
	if err != nil {
		t.Errorf("inside: %v", err)
	}
	if strings.Contains(out.String(), "--- SKIP: "+t.Name()+" (") {
		t.SkipNow() // for the reason that is logged
	}
}

// ownNamespaces are those of the network, of mounts, since ip keeps its names in
// some, and of processes, all of which end with the first one.
func ownNamespaces() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if uid := os.Getuid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// newNetwork makes a router, and connects this process to it.
func newNetwork(t *testing.T) *network {
	t.Helper()
	for _, command := range []string{
		"mount --make-rprivate /",
		"mount -t tmpfs none /run",
		"ip link set lo up",
		"ip netns add router",
		"ip netns exec router tee /proc/sys/net/ipv4/ip_forward",
	} {
		words := strings.Fields(command)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdin = strings.NewReader("1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("there can be no network of the test's own: %s: %v: %s", command, err, out)
		}
	}
	n := &network{t: t, addrs: map[string]string{}}
	n.connect(self)
	return n
}

// host adds a host and returns its address.
func (n *network) host(name string) (addr string) {
	n.t.Helper()
	n.run("ip", "netns", "add", name)
	n.run("ip", "-n", name, "link", "set", "lo", "up")
	return n.connect(name)
}

func (n *network) connect(name string) (addr string) {
	n.t.Helper()
	i := len(n.addrs) + 1
	wire, link := fmt.Sprint("wire", i), fmt.Sprint("link", i) // its two ends
	addr, router := fmt.Sprintf("10.77.%d.2", i), fmt.Sprintf("10.77.%d.1", i)
	n.run("ip", "link", "add", wire, "type", "veth", "peer", "name", link, "netns", "router")
	host := []string{"ip", "-n", name}
	if name == self {
		host = host[:1]
	} else {
		n.run("ip", "link", "set", wire, "netns", name)
	}
	n.run("ip", "-n", "router", "addr", "add", router+"/30", "dev", link)
	n.run("ip", "-n", "router", "link", "set", link, "up")
	n.run(append(host, "addr", "add", addr+"/30", "dev", wire)...)
	n.run(append(host, "link", "set", wire, "up")...)
	n.run(append(host, "route", "add", "default", "via", router)...)
	n.addrs[name] = addr
	return addr
}

// alias is another address of the test's own host, to which lose does not apply.
func (n *network) alias() net.Addr {
	n.t.Helper()
	const addr = "10.77.0.2"
	n.run("ip", "addr", "add", addr+"/32", "dev", "lo")
	n.run("ip", "-n", "router", "route", "add", addr, "via", n.addrs[self])
	return &net.TCPAddr{IP: net.ParseIP(addr)}
}

// lose drops from now on what one host sends to another.
func (n *network) lose(from, to string) { n.t.Helper(); n.rule("add", from, to) }

// heal ends what lose has begun.
func (n *network) heal(from, to string) { n.t.Helper(); n.rule("del", from, to) }

func (n *network) rule(verb, from, to string) {
	n.t.Helper()
	n.run("ip", "-n", "router", "rule", verb, "from", n.addrs[from], "to", n.addrs[to], "blackhole")
}

func (n *network) run(command ...string) {
	n.t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// cluster is an installation whose processes each have a host of their own, named
// as they are: nats, worker, and so many apis from api1 on.
func (n *network) cluster(apis int, more ...string) *cluster {
	t := n.t
	t.Helper()
	c := &cluster{data: t.TempDir(), bus: "nats://" + n.host("nats") + ":7000"}
	c.nats = start(t, &process{
		name: "nats-server", host: "nats", ready: "http://" + n.addrs["nats"] + ":7001/healthz",
		args: []string{"-a", n.addrs["nats"], "-p", "7000", "-m", "7001", "-js", "-sd", t.TempDir()},
	})
	c.workers = []*process{n.program(c, "worker", "worker", c.bus)}
	for i := range apis {
		c.apis = append(c.apis, n.api(c, fmt.Sprint("api", i+1), c.bus, more...))
	}
	return c
}

// program runs one of an installation's programs on a host of its own.
func (n *network) program(c *cluster, program, host, bus string, more ...string) *process {
	n.t.Helper()
	addr := n.host(host)
	return start(n.t, &process{
		name: program + " on " + host, host: host, ready: "http://" + addr + ":7001/readyz", env: []string{"TIDINGS_NATS_URL=" + bus},
		args: append([]string{"--dev", "--schema", social(n.t), "--data", c.data, "--admin", ":7001"}, more...),
	})
}

func (n *network) api(c *cluster, host, bus string, more ...string) *api {
	n.t.Helper()
	p := n.program(c, "api", host, bus, append([]string{"--listen", ":7000"}, more...)...)
	return &api{process: p, url: "http://" + n.addrs[host] + ":7000"}
}

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// Three servers keep the log; the one that leads it goes away under load and
// comes back. Writers that retry lose nothing and write nothing twice, a
// follower sees each message once and in order, and a reader sees the same.
func TestALogWithReplicasSurvivesTheLossOfItsLeader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	c := startCluster(t)
	b := openCluster(t, c)
	got := follow(t, b, 0)
	const writers, each = 4, 150
	var wrote sync.WaitGroup
	for w := range writers {
		wrote.Go(func() {
			for i := range each {
				insist(t, b, bus.Entry{Subject: b.Subjects().Record("User", fmt.Sprintf("%d-%d", w, i)), Data: fmt.Appendf(nil, "%d-%d", w, i)})
			}
		})
	}
	seen := map[string]bool{}
	var seq uint64
	for len(seen) < writers*each {
		if len(seen) == writers*each/4 {
			c.restart(t, c.leader(b.Subjects().Stream()))
		}
		seq++
		m := expect(t, got, seq)
		if id := string(m.Data); seen[id] {
			t.Fatalf("%s is there twice", id)
		}
		seen[string(m.Data)] = true
	}
	wrote.Wait()
	n := uint64(0)
	if _, err := b.Read(t.Context(), b.Subjects().Records("User"), 0, seq, func(m bus.Message) error {
		if n++; m.Seq != n {
			return fmt.Errorf("read %d, want %d", m.Seq, n)
		}
		return nil
	}); err != nil || n != seq {
		t.Fatalf("read %d of %d: %v", n, seq, err)
	}
}

// insist appends as a worker does: it asks the log when it cannot tell.
func insist(t *testing.T, b *bus.Bus, e bus.Entry) {
	for t.Context().Err() == nil {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		_, err := b.Append(ctx, e)
		if err == nil {
			cancel()
			return
		}
		if !errors.Is(err, bus.ErrConflict) && !errors.Is(err, bus.ErrUnknownOutcome) && !fault.Is(err, fault.Unavailable) {
			t.Errorf("append: %v", err)
		}
		if m, err := b.Last(ctx, e.Subject); err == nil && m != nil {
			cancel()
			return
		}
		cancel()
	}
}

type cluster struct {
	options []*server.Options
	servers []*server.Server
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	ports := freePorts(t, 6)
	var routes []string
	for _, p := range ports[:3] {
		routes = append(routes, "nats://127.0.0.1:"+strconv.Itoa(p))
	}
	for i := range 3 {
		o := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: ports[3+i], NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]},
			Routes:  server.RoutesFromStr(strings.Join(routes, ",")),
		}
		c.options, c.servers = append(c.options, o), append(c.servers, nil)
		c.start(t, i)
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.Shutdown()
			s.WaitForShutdown()
		}
	})
	return c
}

func (c *cluster) start(t *testing.T, i int) {
	t.Helper()
	s, err := server.NewServer(c.options[i].Clone())
	if err != nil {
		t.Fatal(err)
	}
	c.servers[i] = s
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("a server of the cluster did not start")
	}
}

func (c *cluster) leader(stream string) int {
	for i, s := range c.servers {
		if s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return i
		}
	}
	return 0
}

func (c *cluster) restart(t *testing.T, i int) {
	t.Helper()
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
	c.start(t, i)
}

// openCluster waits until the cluster has found a leader.
func openCluster(t *testing.T, c *cluster) *bus.Bus {
	t.Helper()
	var urls []string
	for _, s := range c.servers {
		urls = append(urls, s.ClientURL())
	}
	o := bus.Options{URL: strings.Join(urls, ","), Replicas: 3}
	until(t, "the cluster has a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		b, err := bus.Open(ctx, o)
		if err == nil {
			b.Close(ctx)
		}
		return err == nil
	})
	return bustest.Open(t, o)
}

func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

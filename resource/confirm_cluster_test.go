package resource_test

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// A leader of the log that was replaced and does not know it says that there is
// nobody to refer to. Who refers to somebody is not refused because of that.
func TestAReferenceIsNotRefusedByAFormerLeader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	b, urls := onCluster(t)
	s := resourcetest.On(t, b, club, resource.FeedOptions{})
	var asked atomic.Int32
	for _, url := range urls { // one of them is faster than the leader
		former, err := nats.Connect(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(former.Close)
		if _, err := former.Subscribe("$JS.API.STREAM.MSG.GET."+b.Subjects().Stream(), func(m *nats.Msg) {
			if bytes.Contains(m.Data, []byte(".log.Team.")) && asked.Add(1)%10 < 7 {
				_ = m.Respond([]byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := former.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		team := made(t, s, "Team", `{"name":"T%d"}`, i)
		if err := try(t, s, "Member", resource.Create, `{"name":"m%d","teamId":"%s"}`, i, team); err != nil {
			t.Fatalf("a member of a team that is there: %v", err)
		}
	}
	if err := try(t, s, "Member", resource.Create, `{"name":"none","teamId":"none"}`); !fault.Is(err, fault.BadUserInput) {
		t.Errorf("a member of no team: %v", err)
	}
	member := made(t, s, "Member", `{"name":"held","teamId":"%s"}`, made(t, s, "Team", `{"name":"H"}`))
	badge := made(t, s, "Badge", `{"memberId":"%s"}`, member)
	if err := try(t, s, "Member", resource.Delete, `{"id":"%s"}`, member); !fault.Is(err, fault.Conflict) {
		t.Errorf("the end of a member who has a badge: %v", err)
	}
	if err := try(t, s, "Badge", resource.Delete, `{"id":"%s"}`, badge); err != nil {
		t.Error(err)
	}
	if err := try(t, s, "Member", resource.Delete, `{"id":"%s"}`, member); err != nil {
		t.Errorf("the end of a member who has no badge any more: %v", err)
	}
}

// onCluster is a bus whose log has three copies, and where its servers are.
func onCluster(t *testing.T) (b *bus.Bus, urls []string) {
	t.Helper()
	var routes []string
	var listeners []net.Listener
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		routes = append(routes, "nats://"+l.Addr().String())
	}
	for i, l := range listeners {
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		s, err := server.NewServer(&server.Options{
			ServerName: "n" + strconv.Itoa(i), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}, Routes: server.RoutesFromStr(strings.Join(routes, ",")),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		s.Start()
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("a server of the cluster did not start")
		}
		urls = append(urls, s.ClientURL())
	}
	o := bus.Options{URL: strings.Join(urls, ","), Replicas: 3}
	for deadline := time.Now().Add(30 * time.Second); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		b, err := bus.Open(ctx, o)
		if err == nil {
			b.Close(ctx)
		}
		cancel()
		if err == nil {
			return bustest.Open(t, o), urls
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster has no leader: %v", err)
		}
	}
}

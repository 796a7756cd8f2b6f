package boot_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tidings/cmd/internal/boot"
)

// startThree runs a cluster of three servers until the test ends.
func startThree(t *testing.T) (url string) {
	t.Helper()
	var ports []int
	for range 6 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	var routes, urls []string
	var servers []*server.Server
	for i := range 3 {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]))
	}
	for i := range 3 {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: ports[3+i], NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}, Routes: server.RoutesFromStr(strings.Join(routes, ",")),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		s.Start()
		servers = append(servers, s)
	}
	end := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !slices.ContainsFunc(servers, func(s *server.Server) bool { return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 }) {
		if time.Now().After(end) {
			t.Fatal("the cluster has no leader")
		}
		<-tick.C
	}
	return strings.Join(urls, ",")
}

// In production a log that is lost with one server is refused, and what an
// operator has reasons for is let pass.
func TestCopiesThatSurviveNothingAreRefusedOutsideOfDevelopment(t *testing.T) {
	t.Parallel()
	url := startThree(t)
	open := func(log *slog.Logger, settings ...string) error {
		c, _, err := read(append([]string{"--schema", "../../../examples/social", "--data", t.TempDir(), "--public-url", "http://localhost"}, settings...), []string{"TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32), "TIDINGS_NATS_URL=" + url})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		rooms, err := boot.Open(ctx, c, boot.Role{Edge: true}, log)
		if err == nil {
			err = rooms.Close()
		}
		return err
	}
	silent := slog.New(slog.DiscardHandler)
	if err := open(silent); err == nil || !strings.Contains(err.Error(), "one copy in a cluster of 3 servers") || !strings.Contains(err.Error(), "--replicas 3") {
		t.Fatalf("one copy: %v", err)
	}
	for _, pass := range []string{"--dev", "--allow-unsafe=one-copy"} {
		if err := open(silent, pass); err != nil {
			t.Errorf("%s: %v", pass, err)
		}
	}
	if err := open(silent, "--prefix", "even", "--replicas", "2"); err == nil || !strings.Contains(err.Error(), "odd number") {
		t.Errorf("two copies: %v", err)
	}
	log := new(strings.Builder)
	edit := func(replicas string) {
		c, _, err := read([]string{"--replicas", replicas}, []string{"TIDINGS_NATS_URL=" + url})
		if err == nil {
			_, err = c.SetUp(t.Context(), true, silent)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit("3")
	if err := open(slog.New(slog.NewTextHandler(log, nil)), "--replicas", "3"); err != nil || strings.Contains(log.String(), "fewer copies") {
		t.Errorf("three copies: %v\n%s", err, log)
	}
}

func TestCredentialsInTheClearAreAWarning(t *testing.T) {
	t.Parallel()
	for environ, warned := range map[string]bool{
		"TIDINGS_NATS_URL=nats://ann:secret@192.0.2.1:4222":      true,
		"TIDINGS_NATS_URL=nats://ann:secret@127.0.0.1:1":         false,
		"TIDINGS_NATS_URL=tls://ann:secret@192.0.2.1:4222":       false,
		"TIDINGS_NATS_URL=nats://192.0.2.1:4222":                 false,
		"TIDINGS_NATS_URL=nats://localhost:1,token@192.0.2.1:42": true,
	} {
		c, _, err := read([]string{"--schema", "../../../examples/social"}, []string{"TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32), environ})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		log := new(strings.Builder)
		if _, err := boot.Open(ctx, c, boot.Role{Edge: true}, slog.New(slog.NewTextHandler(log, nil))); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", environ, err)
		}
		cancel()
		if strings.Contains(log.String(), "in the clear") != warned || strings.Contains(log.String(), "secret@") {
			t.Errorf("%s: %s", environ, log)
		}
	}
}

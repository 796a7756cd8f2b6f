package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/internal/proc/proctest"
)

func TestAFullLogRefusesUntilItsLimitIsRaised(t *testing.T) {
	t.Parallel()
	s, log := startServer(t, "jetstream { store_dir: STORE }"), &proctest.Log{}
	const limit = 1 << 20
	b := bustest.Open(t, bus.Options{URL: s.ClientURL(), MaxBytes: limit, Logger: slog.New(slog.NewTextHandler(log, nil))})
	data := make([]byte, 100<<10)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("User", fmt.Sprint(n)), Data: data})
	}
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "no room") || n < 5 {
		t.Fatalf("after %d appends: %v", n, err)
	}
	_, err = b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("User", "a"), Data: data}, bus.Entry{Subject: b.Subjects().Record("User", "b"), Data: data})
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "no room") {
		t.Errorf("several together: %v", err)
	}
	if !strings.Contains(log.String(), "--log-max-bytes") {
		t.Errorf("the log has no remedy:\n%s", log)
	}
	u, err := b.Usage(t.Context())
	if err != nil || u.MaxBytes != limit || u.Bytes < limit*3/4 || u.Messages != int64(n-1) || u.Subjects != u.Messages || u.Stored < u.Bytes {
		t.Errorf("%+v, %v", u, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- b.WatchUsage(ctx) }()
	until(t, "it is told how full it is", func() bool { return strings.Contains(log.String(), "of the bytes of the log are taken") })
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}

	editor := bustest.Open(t, bus.Options{URL: s.ClientURL(), MaxBytes: 2 * limit, Edit: true})
	if kept := editor.Kept(); len(kept) != 1 || kept[0].Done != "changed: max bytes 1048576 to 2097152" {
		t.Errorf("%+v", kept)
	}
	mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "more"), Data: data})
}

func TestTheLimitOfAnEmbeddedLogIsThatOfTheSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, limit := range []int64{1 << 20, 4 << 20, 0} {
		b := bustest.Open(t, bus.Options{Dir: dir, MaxBytes: limit})
		u, err := b.Usage(t.Context())
		if want := max(limit, 0); err != nil || limit > 0 && u.MaxBytes != want || u.MaxStored == 0 {
			t.Errorf("%d: %+v, %v", limit, u, err)
		}
		closeBus(t, b)
	}
}

func TestASizeIsToldOnceForEachStep(t *testing.T) {
	t.Parallel()
	log := &proctest.Log{}
	look := bus.Alarm(slog.New(slog.NewTextHandler(log, nil)))
	told := 0
	for i, c := range []struct {
		used int64
		tell bool
	}{{10, false}, {75, true}, {80, false}, {74, false}, {91, true}, {99, false}, {86, false}, {90, false}, {84, false}, {90, true}, {60, false}, {76, true}, {95, true}, {0, false}, {96, true}} {
		look(bus.Usage{Bytes: c.used, MaxBytes: 100})
		now := strings.Count(log.String(), "bytes of the log")
		if (now > told) != c.tell || now > told+1 {
			t.Errorf("%d: at %d%% told is %v", i, c.used, now > told)
		}
		told = now
	}
	look(bus.Usage{Bytes: 1000})
	if now := strings.Count(log.String(), "bytes of the log"); now != told {
		t.Error("without a limit something is told")
	}
}

func TestABucketHasTheCopiesOfTheLog(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	c := startCluster(t)
	b := openCluster(t, c)
	if _, err := b.Bucket(t.Context(), bus.BucketOptions{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Queue(t.Context(), bus.QueueOptions{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	for _, k := range b.Kept() {
		if k.Replicas != 3 || k.Storage != jetstream.FileStorage.String() {
			t.Errorf("%+v", k)
		}
	}
	if s, err := b.Survey(t.Context()); err != nil || s.Servers != 3 || s.Replicas != 3 || s.Version == "" {
		t.Errorf("%+v, %v", s, err)
	}
	one := bustest.Open(t, bus.Options{URL: c.servers[0].ClientURL(), Replicas: 1, Prefix: "other"})
	if s, err := one.Survey(t.Context()); err != nil || s.Servers != 3 || s.Replicas != 1 {
		t.Errorf("by one address: %+v, %v", s, err)
	}
	_, err := bus.Open(t.Context(), bus.Options{URL: c.servers[0].ClientURL(), Replicas: 5, Prefix: "third"})
	if err == nil || !strings.Contains(err.Error(), "fewer than 5 servers") {
		t.Errorf("five copies on three servers: %v", err)
	}
}

func TestReplicasWithoutAClusterAreRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := startServer(t, "jetstream { store_dir: STORE, max_file_store: 1MB }")
	refused(t, bus.Options{URL: s.ClientURL(), Replicas: 3}, "in no cluster", "--replicas 1")
	refused(t, bus.Options{URL: s.ClientURL(), MaxBytes: 1 << 30}, "give JetStream more storage")
}

func TestServersAreCountedAndOldOnesKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given, discovered []string
		want              int
	}{
		{[]string{"nats://127.0.0.1:1"}, nil, 1},
		{[]string{"nats://10.0.0.1:4222"}, []string{"nats://10.0.0.2:4222", "nats://10.0.0.3:4222"}, 3},
		{[]string{"nats://a:4222"}, []string{"nats://10.0.0.1:4222", "nats://10.0.0.2:4222"}, 2},
		{[]string{"a", "b", "c"}, nil, 3},
	} {
		if got := bus.CountServers(c.given, c.discovered); got != c.want {
			t.Errorf("%v and %v are %d, want %d", c.given, c.discovered, got, c.want)
		}
	}
	for version, old := range map[string]bool{"2.11.9": true, "2.12.0": false, "2.15.2": false, "3.0.0": false, "1.4.1": true, "": false, "unknown": false} {
		if bus.TooOld(version) != old {
			t.Errorf("%s: %v", version, !old)
		}
	}
}

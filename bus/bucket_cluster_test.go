package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
)

// What is put into a bucket of several replicas is found by others at once,
// also while its leader changes.
func TestABucketWithReplicasIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	c := startCluster(t)
	b := openCluster(t, c)
	other := bustest.Open(t, bus.Options{URL: c.servers[2].ClientURL(), Replicas: 3})
	one, two := bucket(t, b, bus.BucketOptions{Name: "b", MaxAge: time.Hour}), bucket(t, other, bus.BucketOptions{Name: "b", MaxAge: time.Hour})
	for i := range 200 {
		if i == 100 {
			c.restart(t, c.leader("KV_"+b.Subjects().Bucket("b")))
		}
		key := fmt.Sprint(i)
		until(t, "a value is put", func() bool {
			_, revision, err := one.Get(t.Context(), key)
			if err != nil {
				return false
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = one.Put(ctx, key, []byte(key), revision)
			return err == nil
		})
		until(t, "a value is read", func() bool {
			v, _, err := two.Get(t.Context(), key)
			if err == nil && string(v) != key {
				t.Fatalf("%s: %q", key, v)
			}
			return err == nil
		})
	}
}

// While a server hands over what it leads nobody takes what is written. Who is
// patient does not notice.
func TestABucketWithPatienceOutlastsAHandover(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	c := startCluster(t)
	b := openCluster(t, c)
	k := bucket(t, b, bus.BucketOptions{Name: "b", Patience: &bus.Patience{For: time.Minute}})
	stream := "KV_" + b.Subjects().Bucket("b")
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer cancel()
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprint(w, ".", i)
				if _, err := k.Put(t.Context(), key, []byte(key), 0); err != nil && !errors.Is(err, bus.ErrUnknownOutcome) {
					t.Errorf("put: %v", err)
				}
				if _, _, err := k.Get(t.Context(), key); err != nil {
					t.Errorf("get: %v", err)
				}
			}
		})
	}
	nc, err := nats.Connect(c.servers[0].ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for range 5 {
		from := c.leader(stream)
		until(t, "another server leads the bucket", func() bool {
			_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, time.Second) // there may be no leader just now
			return c.servers[c.leader(stream)].JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) && c.leader(stream) != from
		})
	}
}

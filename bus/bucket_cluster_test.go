package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

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

package bus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
)

// Each task is done, also while the queue's leader changes; some may be twice.
func TestAQueueWithReplicasLosesNoTask(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	c := startCluster(t)
	b := openCluster(t, c)
	other := bustest.Open(t, bus.Options{URL: c.servers[2].ClientURL(), Replicas: 3})
	o := bus.QueueOptions{Name: "work", MaxAge: time.Hour, MaxBytes: 1 << 20, Patience: 2 * time.Second, Pause: 100 * time.Millisecond}
	q := queue(t, b, o)
	var mu sync.Mutex
	done := map[string]int{}
	for _, worker := range []*bus.Queue{q, queue(t, other, o)} {
		work(t, worker, 2, func(_ context.Context, task bus.Task) error {
			mu.Lock()
			defer mu.Unlock()
			done[task.ID]++
			return nil
		})
	}
	const tasks = 200
	for i := range tasks {
		if i == tasks/2 {
			c.restart(t, c.leader(b.Subjects().Queue("work")))
		}
		until(t, "a task is put", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return q.Put(ctx, fmt.Sprint(i), nil) == nil
		})
	}
	until(t, "all are done", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(done) == tasks
	})
}

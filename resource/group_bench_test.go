package resource_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/resource"
)

// BenchmarkCreates is what one worker comes to on the embedded server with its
// files: clients that create users with an e-mail address (unique), posts
// (nothing unique), or half of them the one and half the other.
func BenchmarkCreates(b *testing.B) {
	for _, kind := range []string{"unique", "plain", "mixed"} {
		for _, clients := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", kind, clients), func(b *testing.B) {
				w := resource.NewWorker(bustest.Open(b, bus.Options{Dir: b.TempDir()}), social(b), resource.WorkerOptions{})
				var n atomic.Int64
				var users, posts atomic.Int64
				var wg sync.WaitGroup
				for c := range clients {
					wg.Go(func() {
						for {
							i := n.Add(1)
							if i > int64(b.N) {
								return
							}
							cmd := resource.Command{Type: "User", Verb: resource.Create, Who: admin, ID: "b",
								Input: json.RawMessage(fmt.Sprintf(`{"id":"user-%d","name":"User %d","email":"u%d@example.org"}`, i, i, i))}
							counter := &users
							if kind == "plain" || kind == "mixed" && c%2 == 0 {
								cmd.Type, counter = "Post", &posts
								cmd.Input = json.RawMessage(`{"title":"A title","body":"A body"}`)
							}
							if _, err := w.Carry(b.Context(), cmd); err != nil {
								b.Error(err)
								return
							}
							counter.Add(1)
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(users.Load())/b.Elapsed().Seconds(), "users/s")
				b.ReportMetric(float64(posts.Load())/b.Elapsed().Seconds(), "posts/s")
			})
		}
	}
}

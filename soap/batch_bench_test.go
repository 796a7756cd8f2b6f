package soap_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// BenchmarkItems is how many records a second clients create over HTTP, call by
// call and in batches of 200, on the embedded server with its files: records
// with a unique value, and plain ones. One client waits for each answer; eight
// share the work.
func BenchmarkItems(b *testing.B) {
	for _, kind := range []string{"plain", "unique"} {
		for _, how := range []string{"single", "batch", "allOrNone"} {
			for _, clients := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/%s/%d", kind, how, clients), func(b *testing.B) { benchItems(b, kind, how, clients) })
			}
		}
	}
}

func benchItems(b *testing.B, kind, how string, clients int) {
	s := resourcetest.On(b, bustest.Open(b, bus.Options{Dir: b.TempDir()}), seats, resource.FeedOptions{})
	w := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{})
	running(b, w)
	s.Client.Use(w)
	serve(b, s, trusting)
	await(b, s)
	world := &world{Service: s, url: edge(b, s, trusting)}
	size := 200
	if how == "single" {
		size = 1
	}
	var next atomic.Int64
	b.ResetTimer()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				from := next.Add(int64(size)) - int64(size)
				if from >= int64(b.N) {
					return
				}
				if status, answer := world.call(b, "alice", "", seatCall(kind, how, int(from), size)); status != http.StatusOK || strings.Contains(answer, "false</tns:success>") {
					b.Errorf("%d %.500s", status, answer)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(next.Load())/b.Elapsed().Seconds(), "items/s")
}

func seatCall(kind, how string, from, size int) string {
	items := make([]string, size)
	for i := range items {
		items[i] = fmt.Sprintf("<n>%d</n>", from+i)
		if kind == "unique" {
			items[i] += fmt.Sprintf("<place>p%d</place>", from+i)
		}
	}
	if how == "single" {
		return "<CreateSeat><input>" + items[0] + "</input></CreateSeat>"
	}
	return batch("CreateSeats", map[string]string{"batch": "false", "allOrNone": "true"}[how], items...)
}

// running lets a worker run until the benchmark ends.
func running(b *testing.B, w *resource.Worker) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(func() { cancel(); wg.Wait() })
	<-w.Ready()
}

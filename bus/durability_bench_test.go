package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tidings/bus"
	"tidings/bus/bustest"
)

// What an append costs by copies and by how often a server forces what it stores
// to the disk, with one writer and with many. The three servers of a cluster
// share one machine and one disk here, so three copies look dearer than they are:
//
//	go test -run xxx -bench Durability -benchtime 3s ./bus
func BenchmarkDurability(b *testing.B) {
	for _, copies := range []int{1, 3} {
		for _, sync := range []string{"2m", "100ms", "always"} {
			for _, writers := range []int{1, 64} {
				b.Run(fmt.Sprintf("R%d/sync=%s/writers=%d", copies, sync, writers), func(b *testing.B) {
					benchmarkAppends(b, startSynced(b, copies, sync), copies, writers)
				})
			}
		}
	}
}

func benchmarkAppends(b *testing.B, url string, copies, writers int) {
	bs := openSynced(b, url, copies)
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	b.ResetTimer()
	for range writers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				began := time.Now()
				if _, err := bs.Append(b.Context(), bus.Entry{Subject: bs.Subjects().Record("User", fmt.Sprint(i)), Data: body}); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "appends/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// startSynced runs one server or a cluster, until the benchmark ends.
func startSynced(b *testing.B, servers int, sync string) (url string) {
	b.Helper()
	ports := freePorts(b, 2*servers)
	var routes, urls []string
	for i := range servers {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[servers+i]))
	}
	for i := range servers {
		o := &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: ports[servers+i], NoSigs: true, NoLog: true, JetStream: true, StoreDir: b.TempDir()}
		if servers > 1 {
			o.Cluster, o.Routes = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}, server.RoutesFromStr(strings.Join(routes, ","))
		}
		if o.SyncAlways = sync == "always"; !o.SyncAlways {
			every, err := time.ParseDuration(sync)
			if err != nil {
				b.Fatal(err)
			}
			o.SyncInterval = every
		}
		s, err := server.NewServer(o)
		if err != nil {
			b.Fatal(err)
		}
		s.Start()
		b.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
	}
	return strings.Join(urls, ",")
}

func openSynced(b *testing.B, url string, copies int) *bus.Bus {
	b.Helper()
	o := bus.Options{URL: url, Replicas: copies}
	until(b, "the log has a leader", func() bool {
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
		defer cancel()
		try, err := bus.Open(ctx, o)
		if err == nil {
			try.Close(ctx)
		}
		return err == nil
	})
	return bustest.Open(b, o)
}

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
	"tidings/schema"
)

// BenchmarkReferences is what a reference that must lead to a record costs: all
// clients refer to one record, or each to another; "none" refers to nothing, and
// "unique" takes a unique value in its place.
func BenchmarkReferences(b *testing.B) {
	for _, kind := range []string{"none", "unique", "one", "many"} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", kind, clients), func(b *testing.B) {
				m, err := schema.Load(club)
				if err != nil {
					b.Fatal(err)
				}
				w := resource.NewWorker(bustest.Open(b, bus.Options{Dir: b.TempDir()}), m, resource.WorkerOptions{})
				carry := func(typ, format string, args ...any) string {
					r, err := w.Carry(b.Context(), resource.Command{Type: typ, Verb: resource.Create, Who: admin, ID: "b", Input: json.RawMessage(fmt.Sprintf(format, args...))})
					if err != nil {
						b.Error(err)
						return ""
					}
					return idOf(b, r)
				}
				teams := make([]string, clients)
				for i := range teams {
					teams[i] = carry("Team", `{"name":"t"}`)
				}
				var n atomic.Int64
				var wg sync.WaitGroup
				b.ResetTimer()
				for c := range clients {
					wg.Go(func() {
						for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
							switch kind {
							case "none":
								carry("Team", `{"name":"u"}`)
							case "unique":
								carry("Tag", `{"name":"n%d"}`, i)
							case "one":
								carry("Member", `{"teamId":%q}`, teams[0])
							case "many":
								carry("Member", `{"teamId":%q}`, teams[c])
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
			})
		}
	}
}

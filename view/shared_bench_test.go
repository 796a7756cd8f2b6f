package view_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidings/view"
	"tidings/view/viewtest"
)

// BenchmarkReadTogether is how many records a second many callers get by id.
func BenchmarkReadTogether(b *testing.B) {
	v, _ := filled(b)
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for i := 0; p.Next(); i++ {
			if docs, err := v.Get(b.Context(), "Post", []string{numbered(i * 97 % (authors * each))}); err != nil || docs[0] == nil {
				b.Error(docs, err)
				return
			}
		}
	})
}

// BenchmarkShown is the time from a change that is written until a reader of
// another connection may show it, one at a time.
func BenchmarkShown(b *testing.B) {
	v := fresh(b, newFixture().model)
	var took []time.Duration
	for n := 1; b.Loop(); n++ {
		change := posts(n-1, 1)
		start := time.Now()
		if err := v.Apply(b.Context(), uint64(n), change); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}

// BenchmarkSharedFill builds tables of 200,000 posts (SIZE: another number) at
// once, with their six indexes.
func BenchmarkSharedFill(b *testing.B) {
	viewtest.Need(b)
	n, err := strconv.Atoi(os.Getenv("SIZE"))
	if err != nil {
		n = 200_000
	}
	f := newFixture()
	for b.Loop() {
		p, err := view.OpenProjection(b.Context(), f.model, "log1", viewtest.Options(b))
		if err != nil {
			b.Fatal(err)
		}
		err = p.Fill(b.Context(), uint64(n), func(add func([]view.Change) error) error {
			for at := 0; at < n; at += 500 {
				if err := add(posts(at, 500)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = p.Finish(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "records/s")
}

package view_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidings/schema"
	"tidings/view"
)

// size is how many records the benchmarks of size have: SIZE, or a million.
func size(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("SIZE"))
	if err != nil {
		n = 1_000_000
	}
	return n
}

// social is the example's model.
func social(t testing.TB) *schema.Model {
	t.Helper()
	model, err := schema.Load(os.DirFS("../examples/social"))
	if err != nil {
		t.Fatal(err)
	}
	return model
}

var notes = strings.Repeat("x", 210)

// people are users of the example of about 400 bytes, whose ids are in no order.
func people(from, n int) []view.Change {
	changes := make([]view.Change, n)
	for i := range changes {
		k := uint64(from + i)
		id := fmt.Sprintf("%016x-%08x", k*0x9E3779B97F4A7C15, k)
		changes[i] = view.Change{Seq: k + 1, Type: "User", ID: id, Raw: fmt.Appendf(nil,
			`{"id":%q,"name":"name %x","email":"%s@example.org","adminNotes":%q,"createdAt":"2026-11-20T07:%02d:%02dZ"}`,
			id, k*0x9E3779B97F4A7C15>>32, id, notes, k/60%60, k%60)}
	}
	return changes
}

// spent is the processor time of this process so far.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the process's memory in MiB: now, and at most so far.
func resident() (now, most float64) {
	raw, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			now = kib / 1024
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			most = kib / 1024
		}
	}
	return now, most
}

func report(b *testing.B, cpu time.Duration) {
	now, most := resident()
	b.ReportMetric(cpu.Seconds(), "cpu-s/op")
	b.ReportMetric(now, "MiB")
	b.ReportMetric(most, "MiB-most")
}

// BenchmarkBuild fills a view from nothing, one Apply after the other.
func BenchmarkBuildApply(b *testing.B) {
	model, n := social(b), size(b)
	for b.Loop() {
		v := openWith(b, model, view.Options{Dir: b.TempDir()})
		before := spent()
		for at := 0; at < n; at += 2000 {
			if err := v.Apply(b.Context(), uint64(at+2000), people(at, 2000)); err != nil {
				b.Fatal(err)
			}
		}
		if err := v.Sync(b.Context()); err != nil {
			b.Fatal(err)
		}
		report(b, spent()-before)
	}
}

// BenchmarkFill builds it at once.
func BenchmarkFill(b *testing.B) {
	model, n := social(b), size(b)
	for b.Loop() {
		v := openWith(b, model, view.Options{Dir: b.TempDir()})
		before, making := spent(), time.Duration(0)
		err := v.Fill(b.Context(), uint64(n), func(add func([]view.Change) error) error {
			for at := 0; at < n; at += 2000 {
				start := time.Now()
				changes := people(at, 2000)
				making += time.Since(start)
				if err := add(changes); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		report(b, spent()-before-making)
	}
}

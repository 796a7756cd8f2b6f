package view_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

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

// BenchmarkBuildApply fills a view from nothing, one Apply after the other.
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

// BenchmarkBuildFill builds it at once.
func BenchmarkBuildFill(b *testing.B) {
	model, n := social(b), size(b)
	for b.Loop() {
		v := openWith(b, model, view.Options{Dir: b.TempDir()})
		before := spent()
		for at := 0; at < n; at += 2000 {
			people(at, 2000)
		}
		making := spent() - before
		before = spent()
		fill(b, v, n)
		report(b, spent()-before-making)
	}
}

// fill fills a view with so many people.
func fill(b *testing.B, v *view.View, n int) {
	b.Helper()
	err := v.Fill(b.Context(), uint64(n), func(add func([]view.Change) error) error {
		for at := 0; at < n; at += 2000 {
			if err := add(people(at, 2000)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSnapshot takes one of such a view, and restores it.
func BenchmarkSnapshot(b *testing.B) {
	model, n := social(b), size(b)
	v := openWith(b, model, view.Options{Dir: b.TempDir()})
	fill(b, v, n)
	var packed bytes.Buffer
	var unpacked int64
	b.Run("take", func(b *testing.B) {
		for b.Loop() {
			packed.Reset()
			before := spent()
			s, err := v.Snapshot(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(&packed, s); err != nil {
				b.Fatal(err)
			}
			unpacked = s.Bytes
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			report(b, spent()-before)
		}
		b.ReportMetric(float64(unpacked)/float64(packed.Len()), "ratio")
		b.ReportMetric(float64(unpacked)/(1<<20), "MiB-file")
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			w := openWith(b, model, view.Options{Dir: b.TempDir()})
			before := spent()
			if err := w.Restore(b.Context(), unpacked, from(packed.Bytes()), anything); err != nil {
				b.Fatal(err)
			}
			report(b, spent()-before)
		}
	})
	b.Run("gzip", func(b *testing.B) { // what the standard library would cost instead
		for b.Loop() {
			r, err := zstd.NewReader(bytes.NewReader(packed.Bytes()))
			if err != nil {
				b.Fatal(err)
			}
			file, err := io.ReadAll(r)
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
			var small bytes.Buffer
			before := spent()
			w, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed) // the level is good
			if _, err := w.Write(file); err != nil {
				b.Fatal(err)
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((spent() - before).Seconds(), "cpu-s-pack")
			before = spent()
			u, err := gzip.NewReader(&small)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(file))/float64(small.Len()), "ratio")
			if _, err := io.Copy(io.Discard, u); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((spent() - before).Seconds(), "cpu-s-unpack")
		}
	})
}

package resource_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// BenchmarkStart/build is a process's way from an empty view to one that shows a
// log of a million users of the example (SIZE: another number), each with the
// reservation of its e-mail address; /again that of one which has the file. The
// log is on disk, in LOG or a temporary directory, and its server is a part of
// this process unless NATS_URL names another one.
func BenchmarkStart(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("SIZE"))
	if err != nil {
		n = 1_000_000
	}
	o := bus.Options{URL: os.Getenv("NATS_URL")}
	if o.URL == "" {
		if o.Dir = os.Getenv("LOG"); o.Dir == "" {
			o.Dir = b.TempDir()
		}
	}
	log := bustest.Open(b, o)
	populate(b, log, n)
	model, err := schema.Load(os.DirFS("../examples/social"))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	start := func(b *testing.B) {
		debug.FreeOSMemory()
		_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the most memory so far is forgotten
		cpu := spent()
		v, err := view.Open(b.Context(), model, log.LogID(), view.Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		f := resource.NewFeed(log, model, v, resource.FeedOptions{})
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := f.Run(ctx); err != nil {
				b.Error(err)
			}
		})
		<-f.Ready()
		b.StopTimer()
		b.ReportMetric((spent() - cpu).Seconds(), "cpu-s/op")
		reportMemory(b)
		if found, err := v.Count(b.Context(), "User", nil, ""); found != n || err != nil {
			b.Errorf("%d records, want %d: %v", found, n, err)
		}
		cancel()
		running.Wait()
		if err := v.Close(); err != nil {
			b.Error(err)
		}
		b.StartTimer()
	}
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			if err := os.RemoveAll(dir); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			start(b)
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			start(b)
		}
	})
}

// populate appends users and their reservations to an empty log.
func populate(b *testing.B, log *bus.Bus, n int) {
	b.Helper()
	if _, last, err := log.State(b.Context()); err != nil || last >= uint64(2*n) {
		return
	}
	notes := strings.Repeat("x", 210)
	const each = 500
	for at := 0; at < n; at += each {
		var entries []bus.Entry
		for k := uint64(at); k < uint64(at+each); k++ {
			id := fmt.Sprintf("%016x-%08x", k*0x9E3779B97F4A7C15, k)
			entries = append(entries, bus.Entry{
				Subject: log.Subjects().Record("User", id), Header: bus.Header{"Tidings-Kind": {"CREATED"}, "Tidings-Actor": {id}, "Tidings-Command": {id}},
				Data: fmt.Appendf(nil, `{"id":%q,"name":"name %x","email":"%s@example.org","adminNotes":%q,"createdAt":"2026-11-20T07:%02d:%02dZ"}`,
					id, k*0x9E3779B97F4A7C15>>32, id, notes, k/60%60, k%60),
			}, bus.Entry{
				Subject: log.Subjects().Unique("User", "email", fmt.Sprintf("%032x", k)), Data: fmt.Appendf(nil, `{"id":%q}`, id),
			})
		}
		if _, err := log.Append(b.Context(), entries...); err != nil {
			b.Fatal(err)
		}
	}
}

// spent is the processor time of this process so far.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportMemory reports the resident memory of this process, now and at most.
func reportMemory(b *testing.B) {
	raw, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			b.ReportMetric(kib/1024, "MiB")
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			b.ReportMetric(kib/1024, "MiB-most")
		}
	}
}

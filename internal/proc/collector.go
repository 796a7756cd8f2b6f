package proc

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// headroom is how much garbage a process may at least gather before the
// collector runs, in bytes.
const headroom = 64 << 20

// Collector keeps the garbage collector from running all the time in a process
// that holds little and allocates much: it lets headroom gather, or as much as
// the process holds when that is more. A larger GOGC would multiply what many
// idle sockets hold. It does nothing when GOGC is set. The returned function
// restores what was.
func Collector() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var ended atomic.Bool
	percent := 100
	adjust := func() {
		if to := percentFor(held()); to != percent {
			percent = to
			debug.SetGCPercent(to)
		}
	}
	adjust()
	afterEach(func() bool {
		if !ended.Load() {
			adjust()
		}
		return !ended.Load()
	})
	return func() {
		ended.Store(true)
		debug.SetGCPercent(100)
	}
}

// afterEach calls f after each collection until it returns false.
func afterEach(f func() (again bool)) {
	type cycle struct{ _ *byte } // a pointer: objects without one share their memory with others
	runtime.AddCleanup(new(cycle), func(struct{}) {
		if f() {
			afterEach(f)
		}
	}, struct{}{})
}

// percentFor is the GOGC with which headroom gathers above what is held, in
// steps, so that it seldom changes.
func percentFor(held uint64) int {
	percent := int(headroom * 100 / max(held, 1<<20))
	return max(100, percent-percent%20)
}

// held is what counts for the collector's pace: the heap that is in use, stacks
// and variables.
func held() (bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			bytes += s.Value.Uint64()
		}
	}
	return bytes
}

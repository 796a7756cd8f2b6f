package proc

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

// MemoryShare is how much of the memory limit ([Fit]) is taken by what is in
// use, of 1; 0 without a limit. What the next collection would free is not
// counted, so a process that stays near 1 is about to spend its time collecting,
// or to be killed. It may be called concurrently, and is cheap.
func MemoryShare() float64 {
	limit := debug.SetMemoryLimit(-1) // only reads
	if limit == math.MaxInt64 {
		return 0
	}
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, // and of these not:
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(s)
	used := 0.0
	for i, sample := range s {
		if sample.Value.Kind() != metrics.KindUint64 {
			return 0
		}
		if n := float64(sample.Value.Uint64()); i < 2 {
			used += n
		} else {
			used -= n
		}
	}
	return used / float64(limit)
}

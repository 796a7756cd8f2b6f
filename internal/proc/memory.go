package proc

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// nearly is how much of the limit may be taken, garbage included, before it is worth
// a collection to know how much of it is garbage.
const nearly = 0.85

// MemoryShare is how much of the memory limit ([Fit]) is taken by what is in
// use, of 1; 0 without a limit. What the next collection would free is not
// counted, so a process that stays near 1 is about to spend its time collecting,
// or to be killed. It may be called concurrently, and is cheap as long as there is
// enough; where garbage and the rest together take more than 85 % it collects: what
// came since the last collection may be in use, all of it.
func MemoryShare() float64 {
	limit := debug.SetMemoryLimit(-1) // only reads
	if limit == math.MaxInt64 {
		return 0
	}
	used, taken := memory()
	if taken > nearly*float64(limit) {
		runtime.GC()
		used, _ = memory()
	}
	return used / float64(limit)
}

// memory tells how many bytes were in use at the last collection, and how many are
// taken, garbage included.
func memory() (used, taken float64) {
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(s)
	var n [6]float64
	for i, sample := range s {
		if sample.Value.Kind() != metrics.KindUint64 {
			return 0, 0
		}
		n[i] = float64(sample.Value.Uint64())
	}
	live, objects := n[0], n[1]
	other := n[2] - objects - n[3] - n[4] - n[5]
	return live + other, objects + other
}

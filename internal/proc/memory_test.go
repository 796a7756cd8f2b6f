package proc_test

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"tidings/internal/proc"
)

func TestWhatIsInUseIsMeasuredAgainstTheLimit(t *testing.T) { // of the whole process: not beside others
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	if share := proc.MemoryShare(); share != 0 {
		t.Errorf("without a limit: %v", share)
	}
	debug.SetMemoryLimit(256 << 20)
	held := make([]byte, 128<<20)
	held[1] = 1
	runtime.GC()
	with := proc.MemoryShare()
	runtime.KeepAlive(held)
	held = nil
	runtime.GC()
	without := proc.MemoryShare()
	if with < 0.5 || with > 0.7 || without > with-0.45 {
		t.Errorf("with half of it taken: %v, without: %v", with, without)
	}
}

// What came since the last collection counts before the next one begins by itself:
// that may be when it is too late.
func TestWhatCameSinceTheLastCollectionCountsInTime(t *testing.T) { // of the whole process: not beside others
	before := debug.SetMemoryLimit(256 << 20)
	defer debug.SetMemoryLimit(before)
	runtime.GC()
	percent := debug.SetGCPercent(-1) // it begins by itself at the limit alone
	defer debug.SetGCPercent(percent)
	var held [][]byte
	for range 235 { // of 256
		held = append(held, make([]byte, 1<<20))
	}
	if share := proc.MemoryShare(); share < 0.9 {
		t.Errorf("%v are in use", share)
	}
	runtime.KeepAlive(held)
}

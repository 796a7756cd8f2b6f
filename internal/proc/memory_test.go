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

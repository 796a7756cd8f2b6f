package proc_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"tidings/internal/proc"
)

// gcPercent is GOGC as it is set.
func gcPercent() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}

// It is not parallel: GOGC is the process's.
func TestASmallProcessCollectsSeldomAndALargeOneAsUsual(t *testing.T) {
	t.Setenv("GOGC", "")
	restore := proc.Collector()
	if got := gcPercent(); got <= 200 {
		t.Errorf("GOGC is %d in a small process", got)
	}
	large := make([]byte, 256<<20)
	deadline := time.Now().Add(20 * time.Second)
	for gcPercent() != 100 {
		if time.Now().After(deadline) {
			t.Fatalf("GOGC stays %d in a large process", gcPercent())
		}
		runtime.GC()
	}
	runtime.KeepAlive(large)
	restore()
	runtime.GC()
	if got := gcPercent(); got != 100 {
		t.Errorf("GOGC is %d afterwards", got)
	}
}

func TestAnOperatorsGOGCIsLeftAlone(t *testing.T) {
	t.Setenv("GOGC", "100")
	defer proc.Collector()()
	if got := gcPercent(); got != 100 {
		t.Errorf("GOGC is %d", got)
	}
}

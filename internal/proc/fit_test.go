package proc_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"tidings/internal/proc"
)

// These are not parallel: the limit is the process's.

func TestASettingOfMemoryCountsBeforeAllElse(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	t.Setenv("GOMEMLIMIT", "1GiB")
	if f := proc.Fit(512 << 20); f.Memory != 512<<20 || f.MemoryFrom != "--memory-limit" || debug.SetMemoryLimit(-1) != 512<<20 {
		t.Errorf("%+v, in force %d", f, debug.SetMemoryLimit(-1))
	}
	if f := proc.Fit(-1); f.Memory != 0 || debug.SetMemoryLimit(-1) < 1<<60 {
		t.Errorf("%+v, in force %d", f, debug.SetMemoryLimit(-1))
	}
}

func TestAnOperatorsGOMEMLIMITIsLeftAlone(t *testing.T) {
	was := debug.SetMemoryLimit(700 << 20) // as the runtime does that reads it at its start
	defer debug.SetMemoryLimit(was)
	t.Setenv("GOMEMLIMIT", "700MiB")
	if f := proc.Fit(0); f.Memory != 700<<20 || f.MemoryFrom != "GOMEMLIMIT" || debug.SetMemoryLimit(-1) != 700<<20 {
		t.Errorf("%+v, in force %d", f, debug.SetMemoryLimit(-1))
	}
}

func TestProcessorsAreTold(t *testing.T) {
	want := "machine"
	if os.Getenv("GOMAXPROCS") != "" {
		want = "GOMAXPROCS"
	} else if runtime.GOMAXPROCS(0) < runtime.NumCPU() {
		want = "cgroup"
	}
	if f := proc.Fit(-1); f.Procs != runtime.GOMAXPROCS(0) || f.ProcsFrom != want {
		t.Errorf("%+v, want %s", f, want)
	}
	t.Setenv("GOMAXPROCS", "3")
	if f := proc.Fit(-1); f.ProcsFrom != "GOMAXPROCS" {
		t.Errorf("%+v", f)
	}
}

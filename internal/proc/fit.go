package proc

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// share is how much of a container's memory the Go runtime may take, in percent.
// The rest, of at least that many bytes where it is less than half, is for what it
// does not count: SQLite's pages, the program, the kernel's buffers of sockets.
const (
	share = 90
	rest  = 64 << 20
)

// Fitted says what a process may use, and who says so.
type Fitted struct {
	Procs     int    // threads that run Go at the same time
	ProcsFrom string // GOMAXPROCS, cgroup or machine
	// Memory is how many bytes the Go runtime keeps within, as long as what is in
	// use allows; 0 for no limit.
	Memory     int64
	MemoryFrom string // --memory-limit, GOMEMLIMIT, cgroup or none
	Container  int64  // bytes that the cgroup allows the process in all; 0: it has no limit, or is not known
}

// Fit makes the garbage collector keep the process within the memory that it may
// have, so that it works more instead of being killed: limit bytes; with 0 what
// GOMEMLIMIT says, or else 90 % of what the cgroup allows (v1, v2, or both
// mounted), or less where that would leave less than 64 MiB, but half at least;
// with less than 0 nothing. How many processors there are Go has found out by
// itself, from the cgroup too. The limit is the process's: Fit is called once, at
// its start.
func Fit(limit int64) Fitted {
	f := Fitted{Procs: runtime.GOMAXPROCS(0), ProcsFrom: "machine", MemoryFrom: "none"}
	switch {
	case os.Getenv("GOMAXPROCS") != "":
		f.ProcsFrom = "GOMAXPROCS"
	case f.Procs < runtime.NumCPU():
		f.ProcsFrom = "cgroup"
	}
	if n, err := memlimit.FromCgroup(); err == nil {
		f.Container = int64(min(n, math.MaxInt64))
	} else if !known(err) {
		f.MemoryFrom = fmt.Sprintf("none: %v", err)
	}
	switch {
	case limit > 0:
		f.Memory, f.MemoryFrom = limit, "--memory-limit"
	case limit < 0:
		f.Memory, f.MemoryFrom = 0, "--memory-limit"
		debug.SetMemoryLimit(math.MaxInt64)
	case os.Getenv("GOMEMLIMIT") != "":
		f.MemoryFrom = "GOMEMLIMIT"
		if f.Memory = debug.SetMemoryLimit(-1); f.Memory == math.MaxInt64 {
			f.Memory = 0
		}
		return f
	case f.Container > 0:
		f.Memory, f.MemoryFrom = max(f.Container/2, min(f.Container/100*share, f.Container-rest)), "cgroup"
	}
	if f.Memory > 0 {
		debug.SetMemoryLimit(f.Memory)
	}
	return f
}

// known reports whether an error means that there is no limit.
func known(err error) bool {
	return errors.Is(err, memlimit.ErrNoLimit) || errors.Is(err, memlimit.ErrNoCgroup) || errors.Is(err, memlimit.ErrCgroupsNotSupported)
}

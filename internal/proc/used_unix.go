//go:build unix

package proc

import (
	"syscall"
	"time"
)

// processorTime is the processor time that this process has had, kernel included; -1 if
// that is unknown.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

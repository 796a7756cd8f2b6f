package bench_test

import (
	"syscall"
	"testing"
	"time"
)

// cpu begins to count the processor time of this process, which others on the
// machine disturb less than they do the time by the clock. What it returns
// reports the time of one operation.
func cpu(b *testing.B) (report func()) {
	before := used(b)
	return func() { b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op") }
}

// used is the processor time that the process has had so far, kernel included.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

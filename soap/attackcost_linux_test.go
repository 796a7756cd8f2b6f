//go:build !race

package soap_test

import (
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Four times the envelope is read in about four times the processor's time, not
// in sixteen. It is the time of this thread alone that counts, so others on the
// machine do not.
func TestReadingTakesTimeInProportionToTheEnvelope(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reader := newReader(t)
	read := func(envelope []byte) { _ = reader.Read(envelope, "text/xml") }
	for what, envelope := range growing(t) {
		small, large := []byte(envelope(1)), []byte(envelope(4))
		least := math.Inf(1)
		for range 5 {
			const n = 5
			least = min(least, effort(n, read, large)/effort(4*n, read, small))
			if least < 2 {
				break
			}
		}
		if least >= 2 {
			t.Errorf("%s: a byte of %d takes %.1f times as long as one of %d", what, len(large), least, len(small))
		}
	}
}

// effort is the processor's time, in seconds, that n times reading takes.
func effort(n int, read func([]byte), envelope []byte) float64 {
	runtime.GC()
	from := threadTime()
	for range n {
		read(envelope)
	}
	return max((threadTime() - from).Seconds(), 1e-3) // the clock's own step
}

func threadTime() time.Duration {
	const ofThisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(ofThisThread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package proc

import "runtime"

// ballast is how much garbage a small process may gather before the collector
// runs, in bytes.
const ballast = 64 << 20

// Ballast keeps the garbage collector from running all the time in a process
// that holds little and allocates much: it makes the heap look larger by
// memory that is never touched and therefore never there. The price is bounded
// by ballast, whatever the process holds; a larger GOGC would multiply
// what many idle sockets hold. The returned function ends it.
func Ballast() (release func()) {
	b := make([]byte, ballast)
	return func() { runtime.KeepAlive(b) }
}

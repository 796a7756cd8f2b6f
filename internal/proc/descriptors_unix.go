//go:build unix

package proc

import "syscall"

// descriptors is how many file descriptors the process may have; 0 if that is unknown.
func descriptors() int64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int64(min(uint64(r.Cur), 1<<40)) // unlimited is the largest number
}

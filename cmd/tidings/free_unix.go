//go:build linux || darwin

package main

import "syscall"

// freeBytes is how much a file in the directory may grow.
func freeBytes(dir string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

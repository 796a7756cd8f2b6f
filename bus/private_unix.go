//go:build unix

package bus

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private refuses a file that others than its reader may read. One that belongs
// to somebody else and that this process reads as a member of its group is as
// private as the mounted secrets of an orchestrator can be.
func private(info fs.FileInfo) error {
	shared := fs.FileMode(0o007)
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) == os.Geteuid() {
		shared = 0o077
	}
	if mode := info.Mode().Perm(); mode&shared != 0 {
		return fmt.Errorf("it has the mode %04o, so that others on this machine may read or write it: chmod 600, or for a mounted secret defaultMode: 0400, with a group of the process 0440", mode)
	}
	return nil
}

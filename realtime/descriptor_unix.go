//go:build unix

package realtime

import (
	"errors"
	"net"
	"syscall"
)

// descriptor gives access to the connection's descriptor; nil where it has none
// that bytes may be written to as they are (TLS).
func descriptor(c net.Conn) syscall.RawConn {
	if sc, ok := c.(syscall.Conn); ok {
		raw, _ := sc.SyscallConn() // it fails when the connection is closed: that shows later
		return raw
	}
	return nil
}

// attempt writes what the descriptor, which never blocks, takes at once: maybe
// nothing.
func attempt(fd uintptr, b []byte) (n int, err error) {
	for {
		n, err = syscall.Write(int(fd), b)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if errors.Is(err, syscall.EAGAIN) {
			return 0, nil
		}
		return max(n, 0), err
	}
}

// readable reports whether reading would not wait.
func readable(fd uintptr) bool {
	var one [1]byte
	for {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return !errors.Is(err, syscall.EAGAIN)
	}
}

package proc

import "syscall"

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall lacks.
const tcpUserTimeout = 18

// limitSilence sets what the listener's connections inherit.
func limitSilence(_, _ string, c syscall.RawConn) error {
	var err error
	if failed := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(giveUp.Milliseconds()))
	}); failed != nil {
		return failed
	}
	return err
}

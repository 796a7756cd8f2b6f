package proc

import (
	"net"
	"syscall"
)

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

// socketError returns the error that the system keeps of a connection whose end
// was read already; nil for none.
func socketError(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	var code int
	if raw.Control(func(fd uintptr) {
		code, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	}) != nil || err != nil || code == 0 {
		return nil
	}
	return syscall.Errno(code)
}

// ended reports whether a connection is no longer established on both sides.
func ended(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	const established = 1 // TCP_ESTABLISHED
	var info int
	if raw.Control(func(fd uintptr) {
		info, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
	}) != nil {
		return true // it is closed
	}
	return err == nil && info&0xff != established // struct tcp_info begins with the state
}

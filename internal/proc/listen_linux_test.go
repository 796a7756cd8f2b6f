package proc_test

import (
	"net"
	"syscall"
	"testing"

	"tidings/internal/proc"
)

func TestConnectionsInheritHowLongAPeerMayBeSilent(t *testing.T) {
	t.Parallel()
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		const tcpUserTimeout = 18
		if ms, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout); err != nil || ms != 20_000 {
			t.Errorf("%d ms, %v", ms, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

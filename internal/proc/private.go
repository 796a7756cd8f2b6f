package proc

import (
	"crypto/tls"
	"net"
	"time"
)

// Private returns a listener whose connections speak TLS with c, over those of l.
func Private(l net.Listener, c *tls.Config) net.Listener {
	t, ok := l.(deadlined)
	if !ok {
		return tls.NewListener(l, c)
	}
	return private{t, c}
}

// deadlined is a listener that a server can stop to accept from without closing it.
type deadlined interface {
	net.Listener
	SetDeadline(time.Time) error
}

type private struct {
	deadlined
	config *tls.Config
}

// Accept implements net.Listener. The handshake comes with the first read.
func (p private) Accept() (net.Conn, error) {
	conn, err := p.deadlined.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(conn, p.config), nil
}

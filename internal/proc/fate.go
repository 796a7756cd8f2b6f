package proc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// watched is a connection of Listen. It notices when its client goes without
// having taken what was written last.
type watched struct {
	*net.TCPConn
	lost  atomic.Pointer[func()] // nil: nobody asks, or it was told
	state atomic.Int32
	ended atomic.Bool // nothing more comes from the client
}

// The states of an answer. Nobody can have taken it before it has left.
const (
	left    int32 = iota // or there is none
	begun                // its end is not written yet
	leaving              // its end leaves with the next bytes
)

// Read implements net.Conn. A client that sends something more, or closes the
// connection in order, has taken its answer. One that resets it has not: the
// system does so for a program that closes a connection with unread data, and
// when something comes after that.
func (c *watched) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if n > 0 {
		if c.state.Load() == left {
			c.lost.Store(nil)
		}
	} else if err != nil {
		c.over(err)
	}
	return n, err
}

// Write implements net.Conn.
func (c *watched) Write(p []byte) (int, error) {
	c.state.CompareAndSwap(leaving, left)
	n, err := c.TCPConn.Write(p)
	if err != nil {
		c.over(err)
	}
	return n, err
}

// over takes note of an error of the connection.
func (c *watched) over(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) { // the server's own
		return
	}
	c.ended.Store(true)
	lost := c.lost.Swap(nil)
	if lost != nil && (c.state.Load() != left || broken(err) || broken(socketError(c.TCPConn))) {
		(*lost)()
	}
}

func broken(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ETIMEDOUT)
}

type connKey struct{}

// withConn returns a context from which OnLoss finds the connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if w, ok := c.(*watched); ok {
		return context.WithValue(ctx, connKey{}, w)
	}
	return ctx
}

// OnLoss has lost called, once, when it shows that the client of an HTTP/1.1
// request goes without the answer that is about to be written: it ends the
// connection before that is written, or resets it before it sends anything more.
// The caller calls end before it writes the last of it. Where ctx is not that of such
// a request, or its connection not of Listen, nothing is called. lost may run on
// any goroutine, also after the handler has returned, and must not wait.
func OnLoss(ctx context.Context, lost func()) (end func()) {
	c, ok := ctx.Value(connKey{}).(*watched)
	if !ok {
		return func() {}
	}
	c.state.Store(begun)
	c.lost.Store(&lost)
	if c.ended.Load() || ctx.Err() != nil {
		c.over(io.EOF)
	}
	return func() { c.state.CompareAndSwap(begun, leaving) }
}

// watchful is a listener of watched connections.
type watchful struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l watchful) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return &watched{TCPConn: c}, nil
}

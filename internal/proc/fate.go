package proc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
)

// Conn is a connection of Listen. It notices when its client goes without having
// taken its answer. A nil Conn notices nothing.
type Conn struct {
	*net.TCPConn
	fate  atomic.Pointer[func(lost bool)] // nil: nobody asks, or it was told
	state atomic.Int32
	ended atomic.Bool // nothing more comes from the client

	counted atomic.Pointer[atomic.Int64] // where it counts as open; nil: nowhere, or no more
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
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	switch {
	case n > 0 && c.state.Load() == left:
		c.tell(false)
	case n == 0 && err != nil:
		c.over(err)
	}
	return n, err
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.state.CompareAndSwap(leaving, left)
	n, err := c.TCPConn.Write(p)
	if err != nil {
		c.over(err)
	}
	return n, err
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.over(net.ErrClosed)
	err := c.TCPConn.Close()
	if open := c.counted.Swap(nil); open != nil {
		open.Add(-1)
	}
	return err
}

// over takes note of an error of the connection.
func (c *Conn) over(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) { // the server's own
		return
	}
	c.ended.Store(true)
	if c.fate.Load() != nil {
		c.tell(c.state.Load() != left || broken(err) || broken(socketError(c.TCPConn)))
	}
}

// tell tells the fate of the answer, once.
func (c *Conn) tell(lost bool) {
	if fate := c.fate.Swap(nil); fate != nil {
		(*fate)(lost)
	}
}

func broken(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ETIMEDOUT)
}

// Gone reports whether the client has gone without its answer, as the system
// knows it now: sooner than any Read tells. asked says that the answer has not
// begun. Where a system does not tell, what was noticed before counts.
func (c *Conn) Gone(asked bool) bool {
	if c == nil {
		return false
	}
	if err := socketError(c.TCPConn); broken(err) { // which is told once: no Read will say so
		c.over(err)
		return true
	}
	return (asked || c.state.Load() != left) && (c.ended.Load() || ended(c.TCPConn))
}

// Answer has fate called, once, when it shows whether the client has taken the
// answer that is about to be written: lost is true when it ends the connection
// before all of that is written, or resets it before it sends anything more. The
// caller calls end before it writes the last of the answer. fate may run on any
// goroutine, also after the handler has returned, and must not wait.
func (c *Conn) Answer(ctx context.Context, fate func(lost bool)) (end func()) {
	c.tell(false) // of the one before: more has come since
	c.state.Store(begun)
	c.fate.Store(&fate)
	if c.ended.Load() || ctx.Err() != nil {
		c.over(io.EOF)
	}
	return func() { c.state.CompareAndSwap(begun, leaving) }
}

type connKey struct{}

// withConn returns a context from which ConnOf finds the connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if w, ok := c.(*Conn); ok {
		return context.WithValue(ctx, connKey{}, w)
	}
	return ctx
}

// ConnOf is the connection of an HTTP/1.1 request; nil when it is none of Listen,
// or is shared with other requests.
func ConnOf(r *http.Request) *Conn {
	if r.ProtoMajor != 1 {
		return nil
	}
	c, _ := r.Context().Value(connKey{}).(*Conn)
	return c
}

// watchful is a listener of Conns.
type watchful struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l watchful) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return &Conn{TCPConn: c}, nil
}

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// sockets are many WebSockets that one thread reads through epoll, with as
// little work for each frame as counting it takes.
type sockets struct {
	epoll  int
	list   []*socket
	closed atomic.Int64 // by the server
	ended  atomic.Bool
	done   chan struct{}

	mu     sync.Mutex // held by the reader for a round of epoll at a time
	window window
}

// socket is one connection. The reader's own.
type socket struct {
	fd    int
	rest  []byte // the beginning of a frame that has not come whole
	seen  bool   // an event has come
	json  bool   // pings are the message {}
	stuck bool   // reads no more
}

// window counts what was sent between two moments.
type window struct {
	from, to  int64 // of the clock; to is 0 while the window is open
	latencies histogram
	mutations histogram // of those that a mutation has caused
	seen      int       // sockets that have got any event, ever
	bytes     uint64
}

var zero = time.Now()

// clock is what events carry: nanoseconds since the load began.
func clock() int64 { return int64(time.Since(zero)) }

// target is where a side's sockets connect and what they say.
type target struct {
	port        int
	path        string
	subprotocol string
	hello       func(i int) []string // the first messages of the i-th socket
	json        bool
	stuck       int // so many of the first are to stop reading
}

// dial opens n sockets, each of which has said its hello.
func dial(t target, n int) (*sockets, error) {
	epoll, err := syscall.EpollCreate1(0)
	if err != nil {
		return nil, err
	}
	s := &sockets{epoll: epoll, list: make([]*socket, n), done: make(chan struct{})}
	const dialers = 8
	var wg sync.WaitGroup
	failed := make([]error, dialers)
	for d := range dialers {
		wg.Go(func() {
			for i := d; i < n && failed[d] == nil; i += dialers {
				s.list[i], failed[d] = open(t, i)
			}
		})
	}
	wg.Wait()
	err = errors.Join(failed...)
	for i, c := range s.list {
		if err != nil {
			break
		}
		ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
		err = syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, c.fd, &ev)
	}
	go s.read()
	if err != nil {
		s.close()
	}
	return s, err
}

// open connects one socket, from one of many addresses so that there are ports
// enough, and shakes hands.
func open(t target, i int) (*socket, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &socket{fd: fd, json: t.json}
	const bindAddressNoPort = 24
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, bindAddressNoPort, 1)
	_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}) // no TIME_WAIT
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	if i < t.stuck {
		if err := narrow(fd); err != nil {
			return c, err
		}
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 1, byte(1 + i%200)}}); err != nil {
		return c, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: t.port}); err != nil {
		return c, fmt.Errorf("connect: %w", err)
	}
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", t.path, t.port)
	if t.subprotocol != "" {
		request += "Sec-WebSocket-Protocol: " + t.subprotocol + "\r\n"
	}
	if err := write(fd, []byte(request+"\r\n")); err != nil {
		return c, err
	}
	if err := c.accepted(); err != nil {
		return c, err
	}
	var hello []byte
	for _, m := range t.hello(i) {
		hello = appendFrame(hello, 1, m)
	}
	if err := write(fd, hello); err != nil {
		return c, err
	}
	return c, syscall.SetNonblock(fd, true)
}

// accepted reads the answer to the handshake; frames behind it stay in rest.
func (c *socket) accepted() error {
	buf := make([]byte, 4096)
	var head []byte
	for {
		n, err := syscall.Read(c.fd, buf)
		if n == 0 {
			err = errors.Join(err, io.EOF)
		}
		if err != nil {
			return fmt.Errorf("the handshake ended after %q (%w)", head, err)
		}
		head = append(head, buf[:n]...)
		if status, rest, whole := bytes.Cut(head, []byte("\r\n\r\n")); whole {
			if !bytes.HasPrefix(status, []byte("HTTP/1.1 101")) {
				return fmt.Errorf("handshake refused: %.200s", status)
			}
			c.rest = rest
			return nil
		}
	}
}

func (c *socket) close() {
	if c != nil && c.fd >= 0 {
		syscall.Close(c.fd)
		c.fd = -1
	}
}

func write(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// appendFrame appends a client's frame, masked with zeros.
func appendFrame(b []byte, opcode byte, message string) []byte {
	b = append(b, 0x80|opcode)
	if n := len(message); n < 126 {
		b = append(b, 0x80|byte(n))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	}
	return append(append(b, 0, 0, 0, 0), message...)
}

// read serves all sockets until close.
func (s *sockets) read() {
	defer close(s.done)
	runtime.LockOSThread()
	events := make([]syscall.EpollEvent, 512)
	buf := make([]byte, 1<<20)
	for !s.ended.Load() {
		n, err := syscall.EpollWait(s.epoll, events, 20)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			panic(err)
		}
		s.mu.Lock()
		for _, ev := range events[:max(n, 0)] {
			s.receive(s.list[ev.Fd], buf)
		}
		s.mu.Unlock()
	}
}

// receive reads once: what is left makes the socket ready again.
func (s *sockets) receive(c *socket, buf []byte) {
	if c.stuck {
		return
	}
	had := copy(buf, c.rest)
	n, err := syscall.Read(c.fd, buf[had:])
	if errors.Is(err, syscall.EAGAIN) {
		return
	}
	if err != nil || n == 0 {
		s.closed.Add(1)
		c.close()
		return
	}
	s.window.bytes += uint64(n)
	b, now := buf[:had+n], clock()
	for {
		opcode, message, rest, whole := frame(b)
		if !whole {
			break
		}
		b = rest
		s.count(c, opcode, message, now)
	}
	c.rest = append(c.rest[:0], b...)
	if len(b) == 0 && cap(c.rest) > 4096 {
		c.rest = nil
	}
}

// frame takes the first frame off b.
func frame(b []byte) (opcode byte, message, rest []byte, whole bool) {
	if len(b) < 2 {
		return 0, nil, b, false
	}
	size, head := int(b[1]&0x7f), 2
	switch {
	case size == 126 && len(b) >= 4:
		size, head = int(binary.BigEndian.Uint16(b[2:])), 4
	case size == 127 && len(b) >= 10:
		size, head = int(binary.BigEndian.Uint64(b[2:])), 10
	case size >= 126:
		return 0, nil, b, false
	}
	if len(b) < head+size {
		return 0, nil, b, false
	}
	return b[0] & 0xf, b[head : head+size], b[head+size:], true
}

// mark is what an event's name begins with: by whom, and the clock.
const (
	mark       = '@'
	byLoad     = '0'
	byMutation = '1'
	digits     = 18
)

func stamp(by byte) string { return fmt.Sprintf("%c%c%0*d", mark, by, digits, clock()) }

// count finds the events of one message; some sides put several into one.
func (s *sockets) count(c *socket, opcode byte, message []byte, now int64) {
	if opcode == 9 {
		_ = write(c.fd, appendFrame(nil, 10, string(message))) // or it shows at the next read
		return
	}
	if c.json && len(message) < 4 && bytes.HasPrefix(message, []byte("{}")) {
		_ = write(c.fd, appendFrame(nil, 1, "{}"))
		return
	}
	for {
		i := bytes.IndexByte(message, mark)
		if i < 0 || len(message) < i+2+digits {
			return
		}
		by, text := message[i+1], message[i+2:i+2+digits]
		message = message[i+2+digits:]
		sent, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			continue
		}
		if !c.seen {
			c.seen = true
			s.window.seen++
		}
		w := &s.window
		switch {
		case sent < w.from || w.to != 0 && sent >= w.to:
		case by == byMutation:
			w.mutations.add(time.Duration(now-sent), 1)
		default:
			w.latencies.add(time.Duration(now-sent), 1)
		}
	}
}

// begin opens a new window; what was sent before is not counted.
func (s *sockets) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window = window{from: clock(), seen: s.window.seen}
}

// end closes the window for what is sent from now on; what is on its way still counts.
func (s *sockets) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window.to = clock()
}

func (s *sockets) look(f func(w *window)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.window)
}

func (s *sockets) delivered() (n uint64) {
	s.look(func(w *window) { n = w.latencies.total })
	return n
}

// close resets all connections.
func (s *sockets) close() {
	if s == nil {
		return
	}
	if s.ended.Swap(true) {
		return
	}
	<-s.done
	for _, c := range s.list {
		c.close()
	}
	syscall.Close(s.epoll)
}

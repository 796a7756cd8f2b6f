package realtime

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// readBuffer holds a short message in one read, and 10,000 idle sockets hold one
// each. Below 257 the upgrader would make its own.
const readBuffer = 288

// handshake gives the upgrader a reader that the socket knows as well: what was
// read from the connection and not asked for yet shows in it.
type handshake struct {
	http.ResponseWriter
	reader *bufio.Reader
}

// Hijack implements http.Hijacker.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil || rw.Reader.Buffered() > 0 { // the upgrader refuses a client that does not wait
		return conn, rw, err
	}
	h.reader = bufio.NewReaderSize(conn, readBuffer)
	return conn, bufio.NewReadWriter(h.reader, rw.Writer), nil
}

// serve reads and acts until nothing more is there. At any time until over one
// goroutine reads the socket, or it is parked; where it cannot be, a goroutine
// that has never gone deep waits in its stead, and keeps its stack small.
func (s *socket) serve() {
	for {
		if err := s.read(); err != nil {
			s.over(err)
			return
		}
		s.pace()
		if s.raw == nil || s.in.Buffered() > 0 {
			continue
		}
		if !s.hub.parking.park(s) {
			go s.wait()
		}
		return
	}
}

// wait waits for the client or for the end of the connection.
func (s *socket) wait() {
	_ = s.raw.Read(readable) // what is wrong shows at the reading
	go s.serve()
}

// over ends what depended on the connection.
func (s *socket) over(err error) {
	defer s.hub.leave(s)
	defer s.hub.parking.leave(s)
	s.because(byError) // if nobody knows better
	defer s.hub.stats.by[overSocket].end(s.cause)
	s.hub.release(s.caller)
	s.finish()
	if _, closed := errors.AsType[*websocket.CloseError](err); !closed {
		s.ws.Close() // the peer is gone, or the protocol broken
	}
	s.hub.closed(s.parting(err))
}

// parting is the socket's end.
func (s *socket) parting(err error) parting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return parting{transport: overSocket, conn: s.conn, from: s.client, user: s.who.Subject, why: s.cause, code: int(s.code), err: err}
}

// read reads one message or control frame and acts on it.
func (s *socket) read() error {
	if done, err := s.readPing(); done || err != nil {
		return err
	}
	most := int64(s.hub.opts.MaxMessage)
	typ, r, err := s.ws.NextReader()
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return err
	}
	if !s.alive() {
		return nil // only the peer's close frame is of interest
	}
	switch {
	case int64(len(data)) > most:
		s.close(closeTooBig, fmt.Sprintf("the message is larger than %d bytes", most))
	case typ != websocket.TextMessage:
		s.close(closeBadMessage, "messages are text")
	case !utf8.Valid(data):
		s.close(closeNotUTF8, "the message is not UTF-8")
	default:
		s.receive(data)
	}
	return nil
}

// readPing takes a ping or pong that stands between two messages. gorilla would
// go on to wait for the message behind it, and idle clients send nothing else.
// All other frames, wrong ones among them, are left to gorilla.
func (s *socket) readPing() (done bool, err error) {
	const final, masked, mask = 0x80, 0x80, 4
	head, err := s.in.Peek(2)
	if err != nil {
		return false, err
	}
	opcode, size := head[0]&^final, int(head[1]&^masked)
	known := head[0]&final != 0 && (opcode == opPing || opcode == opPong)
	if !known || head[1]&masked == 0 || size > 125 {
		return false, nil
	}
	frame, err := s.in.Peek(2 + mask + size)
	if err != nil {
		return false, err
	}
	if opcode == opPing {
		key, data := frame[2:2+mask], []byte(string(frame[2+mask:]))
		for i := range data {
			data[i] ^= key[i%mask]
		}
		s.send(item{opcode: opPong, body: data})
	} else {
		s.alive()
	}
	_, err = s.in.Discard(len(frame))
	return true, err
}

// finish ends the timers and every operation. The connection itself is closed
// by whoever writes to it, else here.
func (s *socket) finish() {
	s.mu.Lock()
	stop(s.limit)
	s.pinger.Stop()
	if s.writing { // for a peer that wants to hear no more: it gets as long as for an answer
		s.deadline = time.Now().Add(closeWait)
		s.pinger.Reset(closeWait)
	}
	s.out.close()
	ops := s.ops
	s.ops = nil
	for _, op := range ops {
		op.done = true
	}
	writing := s.writing
	s.mu.Unlock()
	for _, op := range ops {
		op.release()
	}
	if !writing {
		s.ws.Close()
	}
}

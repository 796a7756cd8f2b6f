package realtime

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

// send queues an item; false when the socket is closing.
func (s *socket) send(it item) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushLocked(it)
}

// pushLocked queues an item. When the queue is full the client reads too
// slowly: behind what waits the socket is closed, with a code after which stock
// clients connect again, to resume from the last cursor they have seen. What
// waits is not dropped: a client that is merely slow gets on with each attempt.
func (s *socket) pushLocked(it item) bool {
	if s.out.shut {
		return false
	}
	s.turnLocked()
	if !s.out.push(it, s.hub.opts.MaxQueue) {
		s.slowLocked()
		s.closeLocked(closeOverload, "the client reads too slowly; connect again and resume by cursor")
		return false
	}
	return true
}

// turnLocked has what is about to be queued written.
func (s *socket) turnLocked() {
	if s.writing {
		return
	}
	s.writing = true
	if s.raw == nil {
		s.hub.wg.Go(func() { s.write(nil, nil, nil) })
		return
	}
	if queue := s.writer.add(s); s.out.items == nil {
		s.out.items = queue
	}
}

func (s *socket) close(code int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked(code, text)
}

// closeLocked queues a close frame behind what waits and accepts nothing more.
func (s *socket) closeLocked(code int, text string) {
	if !s.out.shut {
		s.becauseLocked(endingOf(code))
		s.code = uint16(code)
	}
	s.lastLocked(closeItem(code, text))
}

// echoClose answers the peer's close frame; nothing else is of use to it.
func (s *socket) echoClose(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.becauseLocked(byClient)
	s.out.items = nil
	if code == websocket.CloseNoStatusReceived {
		s.lastLocked(item{opcode: opClose})
		return
	}
	s.lastLocked(closeItem(code, ""))
}

func (s *socket) lastLocked(it item) {
	if s.out.shut {
		return
	}
	s.turnLocked()
	s.out.items = append(s.out.items, it) // fits even when the queue is full
	s.out.bytes += it.size() + overhead
	s.out.close()
}

// closeWait is how long the peer may take to answer a close frame.
const closeWait = time.Second

// take takes what waits.
func (s *socket) take() []item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.take()
}

// wrote gives back the room that the items took. It returns whether more waits:
// otherwise there is nothing to write any more.
func (s *socket) wrote(items []item) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.wrote(items, s.hub.opts.MaxQueue)
	s.hub.late(s.out.left())
	if len(items) > 0 && items[len(items)-1].opcode == opClose {
		s.deadline = time.Now().Add(closeWait)
		s.pinger.Reset(closeWait)
	}
	if len(s.out.items) > 0 {
		return true
	}
	s.writing = false
	if s.out.shut && s.ops == nil {
		s.pinger.Stop()
		s.ws.Close() // the reader has gone and left this to whoever writes
	}
	return false
}

// write writes and waits for the connection, on a goroutine of its own: first
// rest and left, which remain of the items, then until nothing waits. Together
// with the writer, which starts it and gives the socket no other turn meanwhile,
// it is all that writes to the connection but for gorilla's answer to a broken frame.
func (s *socket) write(rest []byte, left, items []item) {
	buf := s.hub.bufs.get()
	defer s.hub.bufs.put(buf)
	err := s.writeAll(rest)
	for err == nil {
		if err = s.writeItems(buf, left); err != nil {
			break
		}
		if !s.wrote(items) {
			return
		}
		items = s.take()
		left = items
	}
	s.broken(err)
}

// broken ends a connection that cannot be written to; the reader notices.
func (s *socket) broken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.slowLocked()
	}
	s.out.end()
	s.writing = false
	s.cut()
}

// writeItems writes the items as frames, many in one write.
func (s *socket) writeItems(buf *[]byte, items []item) error {
	b := (*buf)[:0]
	defer func() { *buf = b }()
	for i, it := range items {
		b = appendFrame(b, it)
		if len(b) < maxWrite && i < len(items)-1 {
			continue
		}
		if err := s.writeAll(b); err != nil {
			return err
		}
		b = b[:0]
	}
	return nil
}

// writeAll writes in parts, each with its deadline.
func (s *socket) writeAll(b []byte) error {
	conn := s.ws.NetConn()
	for part := range slices.Chunk(b, maxWrite) {
		if err := conn.SetWriteDeadline(time.Now().Add(s.hub.opts.WriteTimeout)); err != nil {
			return err
		}
		if _, err := conn.Write(part); err != nil {
			return err
		}
	}
	return nil
}

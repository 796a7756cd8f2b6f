package realtime

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"tidings/auth"
	"tidings/graphql"
)

// stream is one event stream. The handler's goroutine is its only writer.
type stream struct {
	outbound
	w      http.ResponseWriter
	rc     *http.ResponseController
	ctx    context.Context // of what it carries
	cancel context.CancelFunc
	from   netip.Addr     // where it comes from
	wake   chan struct{}  // there is something to write, or an end
	work   sync.WaitGroup // queries and mutations

	// mu guards what follows.
	last     bool           // nothing follows what waits
	again    bool           // the stream ends before what it carries: the client shall come back
	left     bool           // the handler has returned
	running  int            // queries and mutations at work
	draining bool           // the stream ends when they are answered
	why      string         // it ends; empty: it is none of the client's doing
	who      auth.Principal // by whose credentials it lives
	expiry   *time.Timer    // of them; nil: not known yet
	res      *reservation   // in single connection mode
	sub      *subscription  // of distinct connections; nil when it is none, or has not begun
	born     int64          // when what is about to be queued has happened; zero: it is not known
}

// open sends the header at once, so that the client knows it is connected.
func (st *stream) open() error {
	// The server's time-outs are for requests; a stream's writes have their own.
	if err := st.rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	streamHeader(st.w.Header())
	return st.write([]byte(st.hub.retry()))
}

// serve writes what comes until the stream ends.
func (st *stream) serve() {
	beat := time.NewTicker(st.hub.opts.KeepAlive)
	defer beat.Stop()
	for {
		select {
		case <-st.ctx.Done():
			return
		case <-beat.C:
			st.askAll()
			if st.write([]byte(":\n\n")) != nil {
				return
			}
		case <-st.wake:
			if more, err := st.flush(); err != nil || !more {
				return
			}
		}
	}
}

// flush writes all that waits. It returns false when that was the last.
func (st *stream) flush() (more bool, err error) {
	buf := st.hub.bufs.get()
	defer st.hub.bufs.put(buf)
	b := (*buf)[:0]
	defer func() { *buf = b }()
	for {
		items, again, last := st.take()
		for i, it := range items {
			b = appendItem(b, it)
			if len(b) < maxWrite && i < len(items)-1 {
				continue
			}
			if err := st.write(b); err != nil {
				return false, err
			}
			b = b[:0]
		}
		st.wrote(items)
		switch {
		case again:
			return false, st.write([]byte(st.farewell() + st.hub.retryLater()))
		case last:
			return false, nil
		case items == nil:
			return true, nil
		}
	}
}

func (st *stream) take() (items []item, again, last bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.out.take(), st.again, st.last
}

func (st *stream) wrote(items []item) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.out.wrote(items, st.hub.opts.MaxQueue)
	st.hub.late(st.out.left())
}

// write writes and flushes, with a deadline for each 64 KiB. Between writes there
// is none: HTTP/2 ends a stream whose deadline passes, idle or not.
func (st *stream) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), maxWrite)
		if err := st.deadline(time.Now().Add(st.hub.opts.WriteTimeout)); err != nil {
			return err
		}
		if _, err := st.w.Write(b[:n]); err != nil {
			return st.unread(err)
		}
		if err := st.rc.Flush(); err != nil {
			return st.unread(err)
		}
		b = b[n:]
	}
	return st.deadline(time.Time{})
}

func (st *stream) deadline(t time.Time) error {
	if err := st.rc.SetWriteDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// push queues a result; false when the stream takes nothing more. When the
// queue is full the client reads too slowly: the stream ends behind what waits.
func (st *stream) push(it item) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out.shut {
		return false
	}
	if !st.out.push(it, st.hub.opts.MaxQueue) {
		st.slowLocked()
		st.comeBackLocked()
		return false
	}
	st.dateLocked()
	st.notify()
	return true
}

// try is push, but that it takes nothing when the queue is full for the moment.
func (st *stream) try(it item) (taken, full bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.out.shut:
		return false, false
	case !st.out.admits(it, st.hub.opts.MaxQueue):
		st.born = 0 // it is told later, or something newer in its stead
		return false, true
	}
	st.out.push(it, st.hub.opts.MaxQueue)
	st.dateLocked()
	st.notify()
	return true, false
}

// Happened implements graphql.Dater.
func (st *stream) Happened(at time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.born = at.UnixNano()
}

// dateLocked notes when what was queued just now has happened.
func (st *stream) dateLocked() {
	if st.born != 0 {
		st.out.dated, st.born = st.born, 0
	}
}

// finish queues the last item, whatever waits.
func (st *stream) finish(it item) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out.shut {
		return
	}
	st.out.items = append(st.out.items, it)
	st.out.bytes += it.size() + overhead
	st.out.close()
	st.becauseLocked(byEnd)
	st.last = true
	st.notify()
}

// ready blocks until half of the queue is free: a replay of old events goes as
// fast as the client reads.
func (st *stream) ready(ctx context.Context) error {
	return st.out.wait(ctx, &st.mu, st.hub.opts.MaxQueue)
}

// dataLines makes one data field of each line: white space between the tokens
// of JSON may hold line breaks.
func dataLines(payload []byte) []byte {
	if !bytes.ContainsAny(payload, "\r\n") {
		return payload
	}
	payload = bytes.ReplaceAll(payload, []byte("\r\n"), []byte("\n"))
	payload = bytes.ReplaceAll(payload, []byte("\r"), []byte("\n"))
	return bytes.ReplaceAll(payload, []byte("\n"), []byte("\ndata: "))
}

func (st *stream) notify() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// comeBackLocked ends the stream behind what waits, so that the client connects
// again.
func (st *stream) comeBackLocked() {
	if st.out.shut {
		return
	}
	st.out.close()
	st.again = true
	st.notify()
}

// drain ends the stream so that its client comes back, as soon as no query or
// mutation is at work: those end by their answer.
func (st *stream) drain() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.draining = true
	st.restartLocked()
}

func (st *stream) restartLocked() {
	if st.draining && st.running == 0 {
		st.becauseLocked(st.hub.letGo())
		st.comeBackLocked()
	}
}

// execute runs a query or a mutation on a goroutine of its own and hands the
// answer to done, unless the stream takes nothing more.
func (st *stream) execute(run func() graphql.Response, done graphql.Sink) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out.shut {
		return
	}
	st.running++
	st.work.Go(func() {
		defer st.executed()
		defer st.hub.survive(done.End)
		if r := run(); done.Next(r.Body, "") {
			done.End(nil)
		}
	})
}

// atWork is how many queries and mutations run, and whether the stream takes no
// more of them.
func (st *stream) atWork() (running int, draining bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.running, st.draining
}

func (st *stream) executed() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.running--
	st.restartLocked()
}

func (st *stream) cutOff() {
	st.mu.Lock()
	st.slowLocked()
	st.mu.Unlock()
	st.abort()
}

func (st *stream) abort() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.becauseLocked(byDrain)
	st.cancel()
	if !st.left {
		_ = st.rc.SetWriteDeadline(time.Now()) // ends a write that is under way; best effort
	}
}

// leave is called when the handler returns, and what the stream carries has
// been told to end: the response is no longer ours.
func (st *stream) leave() {
	st.mu.Lock()
	st.out.end()
	st.left = true
	stop(st.expiry)
	_ = st.deadline(time.Now().Add(st.hub.opts.WriteTimeout)) // of what the server still has to say; a broken one says nothing
	st.mu.Unlock()
	st.work.Wait()
}

func (st *stream) idle() bool { return false }

// unread notes it when a write has failed for that.
func (st *stream) unread(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.slowLocked()
	}
	return err
}

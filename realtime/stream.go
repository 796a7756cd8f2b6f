package realtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
)

// stream is one event stream, and the sink of its operation. The handler's
// goroutine is its only writer.
type stream struct {
	hub    *Hub
	w      http.ResponseWriter
	rc     *http.ResponseController
	cancel context.CancelFunc
	wake   chan struct{} // there is something to write, or an end

	mu    sync.Mutex
	out   queue
	last  bool // the operation has ended: what waits is all
	again bool // the stream ends before the operation: the client shall come back
	left  bool // the handler has returned
	// single: the operation is a query or a mutation.
	single bool
}

var _ interface {
	graphql.Sink
	graphql.Pacer
	graphql.Starter
} = (*stream)(nil)

// open sends the header at once, so that the client knows it is connected.
func (st *stream) open() error {
	// The server's time-outs are for requests; a stream's writes have their own.
	if err := st.rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	streamHeader(st.w.Header())
	return st.write([]byte(st.hub.retry()))
}

// start begins the operation and returns what ends it.
func (st *stream) start(ctx context.Context, r *http.Request, who auth.Principal, p operationPayload) (stop func()) {
	st.hub.stats.operations.Add(1)
	ended := func() { st.hub.stats.operations.Add(-1) }
	req, cursor := p.request()
	if err := req.ReadHeader(r.Header); err != nil {
		st.End(errorList(fault.Of(err), ""))
		return ended
	}
	kind, err := st.hub.engine.Kind(auth.NewContext(ctx, who), req)
	switch {
	case fault.Is(err, fault.RateLimited):
		st.End(errorList(fault.Of(err), ""))
	case err == nil && kind == "subscription":
		stop, failed := st.hub.engine.Subscribe(ctx, who, req, lastEventID(r, cursor), st)
		if failed == nil {
			return func() { stop(); ended() }
		}
		st.result(*failed)
	case err == nil && kind == "mutation" && r.Method == http.MethodGet:
		st.End(errorList(fault.New(fault.BadRequest, "a GET does not mutate; use POST"), ""))
	default:
		if !st.executes() {
			return ended
		}
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer st.hub.survive(st.End)
			st.result(st.hub.engine.Execute(ctx, who, req))
		})
		return func() { cancel(); wg.Wait(); ended() }
	}
	return ended
}

// executes notes that the operation ends by its answer; false when the stream
// ends before it has begun.
func (st *stream) executes() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.single = true
	return !st.out.shut
}

// serve writes what comes until the stream ends.
func (st *stream) serve(ctx context.Context, expires time.Time) {
	idle := time.NewTimer(st.hub.opts.KeepAlive)
	defer idle.Stop()
	var expiry <-chan time.Time
	if !expires.IsZero() {
		timer := time.NewTimer(time.Until(expires))
		defer timer.Stop()
		expiry = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-expiry:
			st.drain()
		case <-idle.C:
			if st.write([]byte(":\n\n")) != nil {
				return
			}
		case <-st.wake:
			if more, err := st.flush(); err != nil || !more {
				return
			}
		}
		idle.Reset(st.hub.opts.KeepAlive)
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
			return false, st.write([]byte(st.hub.retry()))
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
}

// write writes and flushes, with a deadline for each 64 KiB.
func (st *stream) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), maxWrite)
		err := st.rc.SetWriteDeadline(time.Now().Add(st.hub.opts.WriteTimeout))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := st.w.Write(b[:n]); err != nil {
			return err
		}
		if err := st.rc.Flush(); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// Start tells the client where the operation begins: an event without data sets
// the id that it will come back with, and is dispatched to nobody.
func (st *stream) Start(cursor string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.out.push(item{head: "id: " + cursor + "\n\n"}, st.hub.opts.MaxQueue) // the first: it fits
	st.notify()
}

// Next implements graphql.Sink.
func (st *stream) Next(payload []byte, cursor string) bool {
	head := "event: next\ndata: "
	if cursor != "" {
		head = "event: next\nid: " + cursor + "\ndata: "
	}
	if bytes.ContainsAny(payload, "\r\n") {
		payload = dataLines(payload)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out.shut {
		return false
	}
	if !st.out.push(item{head: head, body: payload, tail: "\n\n"}, st.hub.opts.MaxQueue) {
		st.hub.stats.overflowed.Add(1)
		st.comeBackLocked()
		return false
	}
	st.hub.stats.delivered.Add(1)
	st.notify()
	return true
}

// dataLines makes one data field of each line: white space between the tokens
// of JSON may hold line breaks.
func dataLines(payload []byte) []byte {
	payload = bytes.ReplaceAll(payload, []byte("\r\n"), []byte("\n"))
	payload = bytes.ReplaceAll(payload, []byte("\r"), []byte("\n"))
	return bytes.ReplaceAll(payload, []byte("\n"), []byte("\ndata: "))
}

// End implements graphql.Sink.
func (st *stream) End(errors []byte) {
	if errors != nil {
		st.Next(fmt.Appendf(nil, `{"errors":%s}`, errors), "")
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out.shut {
		return
	}
	// Without a data field EventSource would never dispatch the event.
	complete := item{head: "event: complete\ndata:\n\n"}
	st.out.items = append(st.out.items, complete)
	st.out.bytes += complete.size() + overhead
	st.out.close()
	st.last = true
	st.notify()
}

// Ready blocks until half of the queue is free: a replay of old events goes as
// fast as the client reads.
func (st *stream) Ready(ctx context.Context) error {
	return st.out.wait(ctx, &st.mu, st.hub.opts.MaxQueue)
}

func (st *stream) result(r graphql.Response) {
	st.Next(r.Body, "")
	st.End(nil)
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

// drain ends a subscription's stream; a query or mutation ends by its answer.
func (st *stream) drain() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.single {
		st.comeBackLocked()
	}
}

func (st *stream) abort() {
	st.cancel()
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.left {
		_ = st.rc.SetWriteDeadline(time.Now()) // ends a write that is under way; best effort
	}
}

// leave is called when the handler returns: the response is no longer ours.
func (st *stream) leave() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.out.end()
	st.left = true
}

func (st *stream) idle() bool { return false }

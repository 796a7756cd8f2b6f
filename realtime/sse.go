package realtime

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"tidings/fault"
	"tidings/quota"
)

// SSE serves one operation as an event stream (graphql-sse, distinct
// connections mode: https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md):
// by POST with a JSON body, or by GET with query, variables, operationName and
// extensions in the URL, as a browser's EventSource does. Each result is a
// `next` event with the cursor as its id; `complete` ends the stream. Errors of
// the operation come as `next` too. A GET never mutates.
//
// To resume, a client names the last cursor in the Last-Event-ID header, the
// lastEventId parameter or extensions.cursor, looked for in this order.
//
// The caller is whom the Authorization header names. A token in the URL is
// refused, because URLs are written to logs and kept in histories: browsers
// that must authenticate use fetch (as graphql-sse's client does), and
// EventSource itself is for anonymous callers.
//
// SSE returns when the stream has ended: by the operation, the client, the end
// of the token, a queue that was full, or Drain. In the last three the stream
// stops after `retry:` and without `complete`, so that the client comes back;
// that its token is the cause is said in a comment, which clients pass over.
// Refused before the stream begins are requests that cannot be read (400, 405,
// 413, 415), wrong tokens (401), callers with
// too many connections (429), and all while the hub drains or is full (503).
func (h *Hub) SSE(w http.ResponseWriter, r *http.Request) {
	who, err := h.verifier.Bearer(r.Header.Get("Authorization"))
	if err != nil {
		h.unauthorized(w, err)
		return
	}
	p, err := h.readOperation(w, r)
	if e, ok := errors.AsType[*httpError](err); ok {
		refuse(w, e)
		return
	}
	caller := callerOf(who, quota.Client(r.Context()))
	if !h.claim(caller) {
		refuseMany(w, tooMany)
		return
	}
	defer h.release(caller)
	st, err := h.newStream(w, r)
	if err != nil {
		h.turnAway(w, r, err)
		return
	}
	defer h.closeStream(st)
	if st.open() != nil {
		return
	}
	st.livesBy(who, nil)
	defer distinct{st}.start(st.ctx, r, who, p)()
	st.serve()
}

// newStream registers a stream that answers the request. closeStream ends it.
func (h *Hub) newStream(w http.ResponseWriter, r *http.Request) (*stream, error) {
	st := &stream{outbound: newOutbound(h), rc: http.NewResponseController(w), w: w, wake: make(chan struct{}, 1), from: quota.Client(r.Context())}
	st.ctx, st.cancel = context.WithCancel(r.Context())
	if err := h.enter(st, st.from); err != nil {
		st.cancel()
		return nil, err
	}
	h.stats.by[overStream].begin()
	h.opened(overStream, st.conn, st.from)
	return st, nil
}

func (h *Hub) closeStream(st *stream) {
	st.cancel()
	st.leave()
	st.because(byClient) // if nobody knows better
	h.stats.by[overStream].end(st.cause)
	h.closed(st.parting())
	h.leave(st)
}

// parting is the stream's end.
func (st *stream) parting() parting {
	st.mu.Lock()
	defer st.mu.Unlock()
	return parting{transport: overStream, conn: st.conn, from: st.from, user: st.who.Subject, why: st.cause}
}

func (h *Hub) readOperation(w http.ResponseWriter, r *http.Request) (operationPayload, error) {
	switch r.Method {
	case http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, int64(h.opts.MaxMessage))
		return decodePost(r)
	case http.MethodGet:
		return decodeGet(r.URL.Query())
	}
	w.Header().Set("Allow", "GET, POST")
	return operationPayload{}, &httpError{http.StatusMethodNotAllowed, fault.BadRequest, "use GET or POST for an event stream"}
}

// turnAway refuses a stream. EventSource never comes back after a status other
// than 200, so a GET gets an empty stream that tells it when to.
func (h *Hub) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errCrowded) {
		refuseMany(w, tooManyFrom)
		return
	}
	if r.Method != http.MethodGet {
		h.unavailable(w, err)
		return
	}
	streamHeader(w.Header())
	w.Header().Set("Connection", "close")  // the next process is reached by another
	_, _ = w.Write([]byte(h.retryLater())) // the client has gone
}

func streamHeader(header http.Header) {
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx holds the first event back for half a minute otherwise
}

func (h *Hub) retry() string { return retryAfter(h.opts.Retry) }

// retryLater is retry for clients that are sent away, maybe many at a time: they
// do not come back all at once.
func (h *Hub) retryLater() string { return retryAfter(h.opts.Retry + rand.N(h.opts.Retry)) }

func retryAfter(d time.Duration) string {
	return "retry: " + strconv.FormatInt(d.Milliseconds(), 10) + "\n\n"
}

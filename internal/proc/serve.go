package proc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// ServeHTTP serves h on l, over HTTP/1.1 and HTTP/2 with prior knowledge (RFC
// 9113, 3.3), or as TLS has chosen where l is of Private, until ctx ends; then it
// closes what is left, and l. When d begins, with the end of ctx at the latest, it
// calls drain, once, and answers all requests as the last of their connections
// from then on; it closes nothing before drain has returned. drain gets a context
// that does not end with ctx, and a function that tells the clients of the
// connections that there are to use others for what they send next (RFC 9113, 6.8:
// GOAWAY); what runs on them goes on, and l is served all the same. Where l is not
// a listener of this package it does nothing. Without d there is nothing to drain.
// A request in chunks over HTTP/1.1 is the last of its connection (RFC 9112, 6.1).
func ServeHTTP(ctx context.Context, log *slog.Logger, l net.Listener, h http.Handler, d *Drain, drain func(ctx context.Context, goAway func())) error {
	defer l.Close()
	if d == nil {
		d, drain = NewDrain(nil), func(context.Context, func()) {}
	}
	s := &serving{log: log, listener: l, handler: h, now: serve(log, l, h)}
	select {
	case <-s.now.stopped:
		return s.now.err
	case <-ctx.Done():
		d.Begin()
	case <-d.Begun():
	}
	s.now.SetKeepAlivesEnabled(false) // whoever has been answered goes elsewhere, not over the same connection
	after := context.WithoutCancel(ctx)
	d.Run(func() { drain(after, func() { s.goAway(after) }) })
	select {
	case <-s.now.stopped: // close has its error
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(after, 10*time.Second)
	defer cancel()
	return s.close(closing)
}

// serving is a listener with the server that accepts from it, and the one that
// did so before.
type serving struct {
	log      *slog.Logger
	listener net.Listener
	handler  http.Handler
	now      *server
	before   *server // nil: nobody was told to go away
	leaving  sync.WaitGroup
}

func (s *serving) goAway(ctx context.Context) {
	t, ok := s.listener.(interface{ SetDeadline(time.Time) error })
	if !ok || s.before != nil {
		return
	}
	// Only a server that shuts down says so, and it must not take the listener with it.
	first := s.now
	s.leaving.Go(func() { _ = first.Shutdown(ctx) }) // close waits for it and has its error
	<-first.stopped
	if t.SetDeadline(time.Time{}) != nil {
		return // the listener is closed
	}
	s.before, s.now = first, serve(s.log, s.listener, s.handler)
	s.now.SetKeepAlivesEnabled(false)
}

func (s *serving) close(ctx context.Context) error {
	defer s.leaving.Wait()
	if s.before == nil {
		return s.now.close(ctx)
	}
	return errors.Join(s.before.close(ctx), s.now.close(ctx))
}

// server serves a listener that outlives it.
type server struct {
	*http.Server
	stopped chan struct{} // closed when it accepts nothing more
	err     error         // why: to be read then
}

func serve(log *slog.Logger, l net.Listener, h http.Handler) *server {
	// HTTP/2 in the clear is what proxies speak to those behind them.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true) // over TLS, where l has it
	protocols.SetUnencryptedHTTP2(true)
	s := &server{stopped: make(chan struct{}), Server: &http.Server{
		Handler:     lastInChunks(h),
		Protocols:   protocols,
		ConnContext: withConn,
		ErrorLog:    slog.NewLogLogger(quiet{log.Handler()}, slog.LevelWarn),
		// Against clients that send or take a byte now and then. Streams set
		// deadlines of their own, which replace these.
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      90 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		HTTP2: &http.HTTP2Config{
			// As many event streams as browsers open, and requests beside them. A
			// proxy that has more clients opens more connections. It is also how
			// many requests at once one who resets them all can make work of
			// (CVE-2023-44487).
			MaxConcurrentStreams: 250,
			// What clients may send ahead of the handlers that read it, in all and for
			// one request.
			MaxReceiveBufferPerConnection: 1 << 20,
			MaxReceiveBufferPerStream:     256 << 10,
			// Against a client that takes nothing at all: deadlines of streams do not
			// end its connection.
			WriteByteTimeout: 60 * time.Second,
		},
	}}
	go func() {
		defer close(s.stopped)
		s.err = s.Serve(lent{l})
	}()
	return s
}

func (s *server) close(ctx context.Context) error {
	if err := s.Shutdown(ctx); err != nil {
		_ = s.Close() // what did not finish in time is cut
	}
	<-s.stopped
	if errors.Is(s.err, http.ErrServerClosed) {
		return nil
	}
	return s.err
}

// lent is a listener that a server stops to accept from, instead of closing it.
type lent struct{ net.Listener }

func (l lent) Close() error {
	if t, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		return t.SetDeadline(time.Unix(1, 0))
	}
	return l.Listener.Close()
}

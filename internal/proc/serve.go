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
// 9113, 3.3), or as TLS has chosen where l is of Private, until ctx ends; then it calls drain, and after it closes what is
// left, and l. drain gets a context that does not end with ctx, and a function
// that tells the clients of the connections that there are to use others for
// what they send next (RFC 9113, 6.8: GOAWAY); what runs on them goes on, and l
// is served all the same. Where l is not a listener of this package it does nothing.
func ServeHTTP(ctx context.Context, log *slog.Logger, l net.Listener, h http.Handler, drain func(ctx context.Context, goAway func())) error {
	defer l.Close()
	first := serve(log, l, h)
	select {
	case err := <-first.ended:
		return err
	case <-ctx.Done():
	}
	after := context.WithoutCancel(ctx)
	first.SetKeepAlivesEnabled(false) // whoever has been answered goes elsewhere, not over the same connection
	servers := []*server{first}
	var leaving sync.WaitGroup
	drain(after, func() {
		t, ok := l.(interface{ SetDeadline(time.Time) error })
		if !ok || len(servers) > 1 {
			return
		}
		// Only a server that shuts down says so, and it must not take l with it.
		leaving.Go(func() { _ = first.Shutdown(after) }) // close waits for it and has its error
		<-first.stopped
		if t.SetDeadline(time.Time{}) != nil {
			return // l is closed
		}
		second := serve(log, l, h)
		second.SetKeepAlivesEnabled(false)
		servers = append(servers, second)
	})
	closing, cancel := context.WithTimeout(after, 10*time.Second)
	defer cancel()
	var err error
	for _, s := range servers {
		err = errors.Join(err, s.close(closing))
	}
	leaving.Wait()
	return err
}

// server serves a listener that outlives it.
type server struct {
	*http.Server
	ended   chan error    // why it accepts nothing more
	stopped chan struct{} // closed when it does not
}

func serve(log *slog.Logger, l net.Listener, h http.Handler) *server {
	// HTTP/2 in the clear is what proxies speak to those behind them.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true) // over TLS, where l has it
	protocols.SetUnencryptedHTTP2(true)
	s := &server{ended: make(chan error, 1), stopped: make(chan struct{}), Server: &http.Server{
		Handler:     h,
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
	}}
	go func() {
		defer close(s.stopped)
		s.ended <- s.Serve(lent{l})
	}()
	return s
}

func (s *server) close(ctx context.Context) error {
	if err := s.Shutdown(ctx); err != nil {
		_ = s.Close() // what did not finish in time is cut
	}
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// lent is a listener that a server stops to accept from, instead of closing it.
type lent struct{ net.Listener }

func (l lent) Close() error {
	if t, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		return t.SetDeadline(time.Unix(1, 0))
	}
	return l.Listener.Close()
}

package proc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Route is something that the admin port serves.
type Route struct {
	Pattern string // as http.ServeMux has it
	Handler http.Handler
}

// Admin serves /livez, /startupz and /readyz on l until ctx ends. Live is
// always 200: a process that answers is alive, and a restart cures nothing that
// the bus suffers from. Ready and started are 200 when ready returns nil,
// otherwise 503 with the reason. The port is for operators; it must not be
// reachable from outside. What else is served is for this machine alone: others,
// and web pages, get 403.
func Admin(ctx context.Context, log *slog.Logger, l net.Listener, ready func() error, local ...Route) error {
	mux := http.NewServeMux()
	for _, r := range local {
		mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, req *http.Request) {
			from, err := netip.ParseAddrPort(req.RemoteAddr)
			if err != nil || !from.Addr().Unmap().IsLoopback() || req.Header.Get("Origin") != "" {
				http.Error(w, "this is for programs on the same machine", http.StatusForbidden)
				return
			}
			r.Handler.ServeHTTP(w, req)
		})
	}
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	check := func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
	mux.HandleFunc("GET /readyz", check)
	mux.HandleFunc("GET /startupz", check)
	return ServeHTTP(ctx, log, l, mux, func(context.Context) {})
}

// ServeHTTP serves h on l, over HTTP/1.1 and HTTP/2 with prior knowledge (RFC
// 9113, 3.3), until ctx ends; then it calls drain, and after it
// closes what is left. drain gets a context that does not end with ctx.
func ServeHTTP(ctx context.Context, log *slog.Logger, l net.Listener, h http.Handler, drain func(context.Context)) error {
	// HTTP/2 in the clear is what proxies speak to those behind them.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{
		Handler:   h,
		Protocols: protocols,
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		// Against clients that send or take a byte now and then. Streams set
		// deadlines of their own, which replace these.
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      90 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	after := context.WithoutCancel(ctx)
	srv.SetKeepAlivesEnabled(false) // whoever has been answered goes elsewhere, not over the same connection
	drain(after)
	closing, cancel := context.WithTimeout(after, 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(closing); err != nil {
		_ = srv.Close() // what did not finish in time is cut
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

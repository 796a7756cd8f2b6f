package proc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
)

// Route is something that the admin port serves.
type Route struct {
	Pattern string // as http.ServeMux has it
	Handler http.Handler
	// Open: for whoever reaches the port, and not for this machine alone.
	Open bool
}

// Admin serves /livez, /startupz and /readyz on l until ctx ends. Live is
// always 200: a process that answers is alive, and a restart cures nothing that
// the bus suffers from. Ready and started are 200 when ready returns nil,
// otherwise 503 with the reason. The port is for operators; it must not be
// reachable from outside. What else is served is for this machine alone, unless
// it is Open: others, and web pages, get 403.
func Admin(ctx context.Context, log *slog.Logger, l net.Listener, ready func() error, more ...Route) error {
	mux := http.NewServeMux()
	for _, r := range more {
		if r.Open {
			mux.Handle(r.Pattern, r.Handler)
			continue
		}
		mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, req *http.Request) {
			from, err := netip.ParseAddrPort(req.RemoteAddr)
			if err != nil || !from.Addr().Unmap().IsLoopback() || req.Header.Get("Origin") != "" {
				http.Error(w, "this is for programs on the same machine", http.StatusForbidden)
				return
			}
			r.Handler.ServeHTTP(w, req)
		})
	}
	probes(mux, ready)
	return ServeHTTP(ctx, log, l, mux, nil, nil)
}

func probes(mux *http.ServeMux, ready func() error) {
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
}

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
	// Open: for whoever reaches the port, and not for programs on this machine alone.
	Open bool
}

// adminBody is how many bytes a request to the admin port may send.
const adminBody = 64 << 10

// Admin serves /livez, /startupz and /readyz on l until ctx ends. Live is
// always 200: a process that answers is alive, and a restart cures nothing that
// the bus suffers from. Ready and started are 200 when ready returns nil,
// otherwise 503 with the reason. The port is for operators; it must not be
// reachable from outside. What else is served is for programs on this machine
// alone, unless it is Open: see local. Bodies end after 64 KiB.
func Admin(ctx context.Context, log *slog.Logger, l net.Listener, ready func() error, more ...Route) error {
	mux := http.NewServeMux()
	for _, r := range more {
		if !r.Open {
			r.Handler = local(r.Handler)
		}
		mux.Handle(r.Pattern, r.Handler)
	}
	probes(mux, ready)
	return ServeHTTP(ctx, log, l, guarded(http.MaxBytesHandler(mux, adminBody)), nil, nil)
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

// local lets programs on this machine through, and answers all others with 403:
// other machines; who comes by a proxy, however near that is; and web pages, also
// those whose name leads to this machine, since only one who has an address, or
// localhost, in mind is asking for this machine.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := foreign(r); why != "" {
			http.Error(w, "this is for programs on the same machine: "+why, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// foreign says why a request is not of a program on this machine; empty when it is.
func foreign(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return "the request comes from another one"
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if len(r.Header[name]) > 0 {
			return "the request comes by a proxy (" + name + ")"
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); len(r.Header["Origin"]) > 0 || site != "" && site != "none" && site != "same-origin" {
		return "the request comes from a web page"
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		return "it must be asked for by address, or as localhost"
	}
	return ""
}

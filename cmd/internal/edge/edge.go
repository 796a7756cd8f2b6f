package edge

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"tidings/auth"
	"tidings/cmd/internal/boot"
	"tidings/console"
	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/internal/trace"
	"tidings/quota"
	"tidings/realtime"
)

// edge is the public port: it finds out who calls and which binding answers.
type edge struct {
	rooms     *boot.Rooms
	hub       *realtime.Hub
	mux       *http.ServeMux
	names     names
	unnamed   atomic.Bool // the log has said that a proxy is not named
	log       *slog.Logger
	tracer    *trace.Tracer
	namespace string        // of the SOAP contract
	delay     time.Duration // of the drain
	window    time.Duration
	proxies   quota.Proxies
	console   *console.Console // nil: there is none
	// consoleURL is that of its page; empty: there is none.
	consoleURL string
	hsts       string // Strict-Transport-Security over TLS; empty: nothing is said
}

func newEdge(c boot.Config, rooms *boot.Rooms, log *slog.Logger) (*edge, error) {
	e := &edge{rooms: rooms, tracer: rooms.Tracer, mux: http.NewServeMux(), names: names{prefix: newPrefix()}, log: log, delay: c.DrainDelay, window: max(c.DrainWindow, time.Millisecond)}
	var err error
	if e.proxies, err = c.TrustedProxies(); err != nil {
		return nil, err
	}
	e.names.trusted = e.proxies.Trust
	if c.HSTS > 0 {
		e.hsts = fmt.Sprintf("max-age=%d", int64(c.HSTS.Seconds()))
	}
	first, done := rooms.Use()
	defer done()
	e.hub = realtime.NewHub(first.Engine, rooms.Verifier, realtime.Options{
		AllowedOrigins: c.AllowedOrigins(), DrainWindow: e.window, MaxAge: c.MaxConnectionAge, Ready: rooms.CaughtUp, Logger: log,
		MaxMessage: c.MaxBody, MaxOperations: c.MaxOperations, MaxQueue: c.MaxQueue, MaxPerCaller: max(c.MaxSockets, 0),
		MaxPerAddress: max(c.MaxAddress, 0), MaxConnections: max(c.MaxConnections, 0), MaxMessages: max(c.MaxMessages, 0), InitTimeout: c.InitTimeout,
		Bus: rooms.Bus, Tracer: rooms.Tracer, Metrics: rooms.Metrics, Memory: proc.MemoryShare,
	})
	rooms.OnDrain(e.connections)
	rooms.MeasureReady(e.ready)
	rooms.OnReload(func(engine *graphql.Engine, between func()) { e.hub.Switch(engine, between) })
	live := e.hub.Wrap(http.HandlerFunc(e.query))
	var query http.Handler
	if c.Dev {
		if query, err = e.development(c.AllowedOrigins()); err != nil {
			return nil, err
		}
	}
	e.mux.Handle("/graphql", cors{c.AllowedOrigins()}.wrap(page(query, live)))
	e.mux.HandleFunc("/", e.envelope) // whose paths a reload can change
	e.namespace = first.Gateway.Namespace()
	return e, nil
}

// query answers queries and mutations. Sockets and event streams, which the
// hub has taken before, find out for themselves who calls.
func (e *edge) query(w http.ResponseWriter, r *http.Request) {
	if err := e.rooms.CaughtUp(); err != nil { // half a view would answer as if it were whole
		w.Header().Set("Retry-After", "1")
		refuse(w, r, http.StatusServiceUnavailable, fault.New(fault.Unavailable, "%s", err))
		return
	}
	who, err := e.rooms.Verifier.Bearer(r.Header.Get("Authorization"))
	if err != nil {
		unauthenticated(w, r, fault.Of(err))
		return
	}
	now, done := e.rooms.Use()
	defer done()
	now.Engine.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), who)))
}

// envelope answers what is meant for SOAP.
func (e *edge) envelope(w http.ResponseWriter, r *http.Request) {
	now, done := e.rooms.Use()
	defer done()
	if !now.Gateway.Serves(r.URL.Path) {
		now.Gateway.NotFound(w, r)
		return
	}
	now.Gateway.ServeHTTP(w, r)
}

// unauthenticated answers a token that is not good (RFC 6750).
func unauthenticated(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	refuse(w, r, http.StatusUnauthorized, f)
}

// refuse answers a request that does not reach the engine.
func refuse(w http.ResponseWriter, r *http.Request, status int, f *fault.Error) {
	if x := graphql.ExchangeOf(r.Context()); x != nil {
		x.Code, x.Status = f.Code, status
	}
	body, _ := json.Marshal(map[string]any{"errors": []any{map[string]any{
		"message": f.Message, "extensions": map[string]any{"code": f.Code},
	}}}) // strings always encode
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is none of ours
}

// ready says whether new clients should come.
func (e *edge) ready() error {
	if err := e.rooms.Ready(); err != nil {
		return err
	}
	return e.hub.Crowded()
}

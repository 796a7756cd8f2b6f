package edge

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/quota"
)

// ServeHTTP implements http.Handler. Each request gets a name; a panic is the
// failure of that request alone; the log says what became of it.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &graphql.Exchange{ID: e.names.of(r)}
	proc.Guard(w.Header())
	if e.hsts != "" && r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", e.hsts)
	}
	w.Header().Set(graphql.HeaderRequestID, x.ID)
	start := time.Now()
	r, span := e.tracing(r)
	defer func() {
		p := recover()
		again := p != nil && e.survive(w, r, x, p)
		e.access(r, x, time.Since(start))
		e.answered(span, r, x)
		if again {
			panic(http.ErrAbortHandler) // cuts the connection, without another trace
		}
	}()
	e.hint(r)
	ctx := quota.WithClient(graphql.WithExchange(r.Context(), x), e.proxies.Client(r))
	e.mux.ServeHTTP(w, r.WithContext(ctx))
}

// survive logs a panic and answers in the place of the handler. It returns true
// when an answer has begun: the client must not take what there is for all.
func (e *edge) survive(w http.ResponseWriter, r *http.Request, x *graphql.Exchange, p any) (cut bool) {
	if p == http.ErrAbortHandler {
		return true
	}
	e.log.LogAttrs(r.Context(), slog.LevelError, "a request panicked", slog.String("request_id", x.ID),
		slog.String("path", r.URL.Path), slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	x.Code, x.Status = fault.Internal, http.StatusInternalServerError
	if w.Header().Get("Content-Type") != "" { // each handler sets it right before it writes
		return true
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(x.Status)
	fmt.Fprintf(w, `{"errors":[{"message":"internal error","extensions":{"code":"INTERNAL","requestId":%q}}]}`, x.ID)
	return false
}

// access writes the line of a request: nothing of what was sent but the
// operation's name. Those that failed for no fault of the caller are at level
// info, the others at debug.
func (e *edge) access(r *http.Request, x *graphql.Exchange, took time.Duration) {
	level := slog.LevelDebug
	if x.Faulty() {
		level = slog.LevelInfo
	}
	if !e.log.Enabled(r.Context(), level) {
		return
	}
	list := append(make([]slog.Attr, 0, 12), slog.String("request_id", x.ID), slog.String("transport", "http"),
		slog.String("remote_ip", e.proxies.Client(r).String()), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.Duration("took", took))
	if x.Status != 0 {
		list = append(list, slog.Int("status", x.Status))
	}
	if x.Kind != "" {
		list = append(list, slog.String("op_type", x.Kind), slog.String("op_name", x.Name))
	}
	if x.User != "" {
		list = append(list, slog.String("user", x.User))
	}
	if x.Code != "" {
		list = append(list, slog.String("code", string(x.Code)))
	}
	e.log.LogAttrs(r.Context(), level, "request", list...)
}

// names gives requests names that differ among all processes.
type names struct {
	prefix string
	count  atomic.Uint64
	// trusted says whose X-Request-Id is taken over; nil: nobody's.
	trusted func(*http.Request) bool
}

func (n *names) of(r *http.Request) string {
	if n.trusted != nil {
		if id := r.Header.Get("X-Request-Id"); wellFormed(id) && n.trusted(r) {
			return id
		}
	}
	return n.prefix + strconv.FormatUint(n.count.Add(1), 36)
}

func newPrefix() string { return rand.Text()[:12] + "-" }

// wellFormed reports whether a name may go into logs and headers.
func wellFormed(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':', c == '=', c == '+', c == '/':
		default:
			return false
		}
	}
	return id != "" && len(id) <= 128
}

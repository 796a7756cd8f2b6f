package edge

import (
	"net/http"
	"strings"

	"tidings/graphql"
	"tidings/internal/trace"
)

// tracing begins the span of a request, below that of whoever sent it. What lasts
// (a socket, an event stream) has none: its operations have their own. It costs
// nothing when tracing is off.
func (e *edge) tracing(r *http.Request) (*http.Request, *trace.Span) {
	if e.tracer == nil {
		return r, nil
	}
	ctx := e.tracer.Origin(r.Header).Under(r.Context())
	if lasts(r) {
		return r.WithContext(ctx), nil
	}
	ctx, span := e.tracer.Start(ctx, trace.Server, r.Method)
	return r.WithContext(ctx), span
}

// lasts reports whether a request may become a connection.
func lasts(r *http.Request) bool {
	return r.Header.Get("Upgrade") != "" || strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream")
}

// answered ends the span of a request. Its name has the path only where that is
// one of ours: there are as many others as somebody likes.
func (e *edge) answered(span *trace.Span, r *http.Request, x *graphql.Exchange) {
	if span == nil {
		return
	}
	defer span.End()
	method := r.Method
	if !known[method] {
		span.Text(trace.MethodOriginal, method)
		method = "_OTHER"
	}
	span.Text(trace.Method, method)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	span.Text(trace.Scheme, scheme)
	span.Text(trace.Protocol, "http")
	span.Text(trace.ProtocolVersion, strings.TrimPrefix(r.Proto, "HTTP/"))
	span.Text(trace.RequestID, x.ID)
	if route := e.route(r); route != "" {
		span.Text(trace.Route, route)
		method += " " + route
	}
	span.Rename(strings.Replace(method, "_OTHER", "HTTP", 1))
	if x.Status != 0 {
		span.Number(trace.Status, int64(x.Status))
	}
	if x.Code != "" {
		span.Fail(string(x.Code), x.Faulty())
	}
}

// known are the methods of RFC 9110 and RFC 5789.
var known = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "DELETE": true, "CONNECT": true, "OPTIONS": true, "TRACE": true, "PATCH": true}

// route is the path of a request that somebody answers; empty for others.
func (e *edge) route(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/graphql") {
		if _, pattern := e.mux.Handler(r); pattern != "/" {
			return r.URL.Path
		}
	}
	now, done := e.rooms.Use()
	defer done()
	if now.Gateway.Serves(r.URL.Path) {
		return r.URL.Path
	}
	return ""
}

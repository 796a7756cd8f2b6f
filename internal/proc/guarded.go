package proc

import "net/http"

// Guard sets the headers of an answer that keep browsers from making something
// else of it than it is, before the handler answers. One that knows better sets
// its own: a page its Content-Security-Policy, an answer that may be kept its
// Cache-Control.
func Guard(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

// guarded guards every answer of h.
func guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Guard(w.Header())
		h.ServeHTTP(w, r)
	})
}

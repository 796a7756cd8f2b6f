package proc

import "net/http"

// Guard sets the headers of an answer that keep browsers from making something
// else of it than it is, before the handler answers. One that knows better sets
// its own: a page its Content-Security-Policy, an answer that may be kept its
// Cache-Control.
func Guard(h http.Header) {
	for _, header := range guards {
		h[header.name] = header.value
	}
}

// guards are shared by all answers: full slices, which nobody appends to in place.
var guards = [...]struct {
	name  string // in canonical form
	value []string
}{
	{"Cache-Control", []string{"no-store"}},
	{"Content-Security-Policy", []string{"default-src 'none'; frame-ancestors 'none'"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"X-Content-Type-Options", []string{"nosniff"}},
}

// guarded guards every answer of h.
func guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Guard(w.Header())
		h.ServeHTTP(w, r)
	})
}

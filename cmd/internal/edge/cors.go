package edge

import (
	"net/http"
	"slices"
	"strings"
)

// cors lets pages of other origins read our answers
// (https://fetch.spec.whatwg.org/#http-cors-protocol). Which ones is the same
// list that WebSockets go by. Without one nothing is said, and browsers refuse.
//
// Credentials are never allowed, since nothing here looks at cookies: a page
// that calls brings its own token.
type cors struct{ origins []string }

// exposed are the headers of ours that a page may read.
const exposed = "Tidings-Request-Id, Tidings-Position, Idempotency-Replayed, Retry-After, ETag, WWW-Authenticate"

func (c cors) wrap(next http.Handler) http.Handler {
	if len(c.origins) == 0 {
		return next
	}
	all := slices.Contains(c.origins, "*")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, origin := w.Header(), r.Header.Get("Origin")
		if !all {
			h.Add("Vary", "Origin")
		}
		if origin == "" || !all && !c.lists(origin) {
			next.ServeHTTP(w, r) // which the browser keeps from the page
			return
		}
		if all {
			origin = "*"
		}
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			preflight(w, r)
			return
		}
		h.Set("Access-Control-Expose-Headers", exposed)
		next.ServeHTTP(w, r)
	})
}

func (c cors) lists(origin string) bool {
	return slices.ContainsFunc(c.origins, func(o string) bool { return strings.EqualFold(o, origin) })
}

// preflight answers what a browser asks before a page's request. Who may read
// may send any header: none has power without a token.
func preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE")
	if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
		h.Set("Access-Control-Allow-Headers", wanted)
	}
	h.Set("Access-Control-Max-Age", "7200") // what Chromium keeps at most, in seconds
	w.WriteHeader(http.StatusNoContent)
}

package edge

import (
	"io"
	"net/http"

	"tidings/graphql"
)

// page answers people who point a browser at the endpoint: with a page to try
// operations on, and where that is nil with what the address is for.
func page(query, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !asksForPage(r):
			next.ServeHTTP(w, r)
		case query != nil:
			query.ServeHTTP(w, r)
		default:
			h := w.Header()
			h.Set("Content-Type", "text/plain; charset=utf-8")
			h.Set("Vary", "Accept")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, notAPage) // the client is gone if it fails
		}
	})
}

const notAPage = `There is no page here: this is a GraphQL endpoint.
Send {"query": "..."} by POST as Content-Type: application/json.
The query page for browsers is a part of development mode (--dev).
`

func asksForPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.RawQuery != "" {
		return false
	}
	const html = "text/html"
	return graphql.Negotiate(r.Header.Values("Accept"), "application/json", "application/graphql-response+json", "text/event-stream", html) == html
}

package edge

import (
	"crypto/rand"
	"io"
	"net/http"
	"strings"

	"tidings/graphql"
	"tidings/web"
)

// page answers people who point a browser at the endpoint: in development with
// a page to try operations on, otherwise with what the address is for.
func page(dev bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !asksForPage(r):
			next.ServeHTTP(w, r)
		case dev:
			servePage(w)
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

func servePage(w http.ResponseWriter) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; style-src 'nonce-"+nonce+"'; script-src 'nonce-"+nonce+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Vary", "Accept")
	_, _ = io.WriteString(w, strings.ReplaceAll(web.Query, "{{nonce}}", nonce)) // the client is gone if it fails
}

// serveResume answers with the module that lets clients resume, for development:
// an application has a copy of its own.
func serveResume(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	_, _ = io.WriteString(w, web.Resume) // the client is gone if it fails
}

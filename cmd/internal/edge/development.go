package edge

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"time"

	"tidings/graphql"
	"tidings/web"
)

// development serves what is for those who build something with the service, and
// returns the query page.
func (e *edge) development(origins []string) (query http.Handler, err error) {
	p, err := web.Query()
	if err != nil {
		return nil, err
	}
	e.mux.Handle("GET /graphql/ui/{file}", serveFile(p))
	e.mux.HandleFunc("GET /graphql/schema.graphql", e.serveContract)
	e.mux.Handle("GET /graphql/resume.js", cors{origins}.wrap(http.HandlerFunc(serveResume)))
	return serveQuery(p), nil
}

// serveQuery answers with the query page. It hands out no token: whatever comes
// to this port could have it, and who asks from where says nothing of who that
// is, behind tunnels, proxies and names that lead to this machine.
func serveQuery(p *web.Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", p.Policy)
		h.Set("Vary", "Accept")
		serveTagged(w, r, p.HTML)
	})
}

// serveFile answers with one of the files that the query page loads. Their names
// hold a hash of what they hold, so browsers keep them for as long as they like.
func serveFile(p *web.Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, has := p.File(r.PathValue("file"))
		if !has {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", file.Type)
		h.Set("Vary", "Accept-Encoding")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		if graphql.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			serveContent(w, r, r.PathValue("file")+".gz", file.Gzip)
			return
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(file.Gzip))
		if err != nil {
			panic(err) // it was embedded so
		}
		content, err := io.ReadAll(unpacked)
		if err != nil {
			panic(err)
		}
		serveContent(w, r, r.PathValue("file"), content)
	})
}

// serveContract answers with the schema as clients see it, with the rules for
// values, of which introspection says nothing. In development everybody may
// introspect.
func (e *edge) serveContract(w http.ResponseWriter, r *http.Request) {
	now, done := e.rooms.Use()
	defer done()
	w.Header().Set("Content-Type", "application/graphql; charset=utf-8")
	serveTagged(w, r, []byte(now.Model.SDL))
}

// serveResume answers with the module that lets clients resume: an application
// has a copy of its own.
func serveResume(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	serveTagged(w, r, []byte(web.Resume))
}

// serveTagged answers with something that browsers ask for again each time, and
// get again only when it has changed.
func serveTagged(w http.ResponseWriter, r *http.Request, content []byte) {
	w.Header().Set("Cache-Control", "no-cache")
	sum := sha256.Sum256(content)
	serveContent(w, r, base64.RawURLEncoding.EncodeToString(sum[:12]), content)
}

// serveContent answers HEAD, If-None-Match and ranges, too (RFC 9110).
func serveContent(w http.ResponseWriter, r *http.Request, tag string, content []byte) {
	w.Header().Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

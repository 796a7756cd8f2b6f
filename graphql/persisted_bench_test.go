package graphql_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tidings/graphql"
)

const benchmarked = `query Q($id: ID!) { user(id: $id) { id name createdAt } }`

// BenchmarkRequest compares a request that holds its document with one that
// names it.
func BenchmarkRequest(b *testing.B) {
	s := sharing(b, graphql.Options{})
	graphql.Memorize(s.engine)
	if body := s.ask(b, graphql.Request{Query: benchmarked, Extensions: apq(benchmarked), Variables: []byte(`{"id":"ada"}`)}); !strings.Contains(body, "ada!") {
		b.Fatal(body)
	}
	params := url.Values{"extensions": {string(apq(benchmarked))}, "variables": {`{"id":"ada"}`}}
	post := fmt.Sprintf(`{"query":%q,"variables":{"id":"ada"}}`, benchmarked)
	for _, c := range []struct{ name, method, target, body string }{
		{"document by POST", http.MethodPost, "/graphql", post},
		{"hash by GET", http.MethodGet, "/graphql?" + params.Encode(), ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			u, err := url.Parse(c.target)
			if err != nil {
				b.Fatal(err)
			}
			header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
			for b.Loop() {
				w := httptest.NewRecorder()
				r := (&http.Request{Method: c.method, URL: u, Header: header, Body: http.NoBody}).WithContext(b.Context())
				if c.body != "" {
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(c.body)), int64(len(c.body))
				}
				s.engine.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

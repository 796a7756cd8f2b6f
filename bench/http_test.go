package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tidings/auth"
)

// BenchmarkHTTP is a request from the reading of its headers to the answer's
// last byte, without net/http's own connection: the token, the body, the engine,
// for a create the way to the log and back into the view.
func BenchmarkHTTP(b *testing.B) {
	s := newService(b)
	secret := bytes.Repeat([]byte("k"), 32)
	verifier, err := auth.NewVerifier(auth.Options{Secret: secret})
	if err != nil {
		b.Fatal(err)
	}
	token, err := auth.Sign(secret, who, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := verifier.Bearer(r.Header.Get("Authorization"))
		if err != nil {
			b.Error(err)
		}
		s.engine.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), who)))
	})
	cases := map[string]string{"create": fmt.Sprintf(`{"query":%q,"variables":{"in":{"authorId":"user-0001","title":"A title","kind":"NOTE"}}}`,
		`mutation($in: CreatePostInput!){createPost(input:$in){id authorId title kind createdAt}}`)}
	for _, q := range questions() {
		body, err := json.Marshal(map[string]any{"query": q.query, "variables": q.variables})
		if err != nil {
			b.Fatal(err)
		}
		cases[q.name] = string(body)
	}
	for name, body := range cases {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("POST", "/graphql", nil)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+token)
			r.ContentLength = int64(len(body))
			reader := bytes.NewReader(nil)
			r.Body = io.NopCloser(reader)
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				reader.Reset([]byte(body))
				clear(w.header)
				handler.ServeHTTP(w, r)
				if w.status != http.StatusOK || w.bytes == 0 {
					b.Fatal(w.status, w.bytes)
				}
			}
		})
	}
}

// sink takes an answer and keeps nothing of it.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) {
	s.bytes = len(p)
	return len(p), nil
}

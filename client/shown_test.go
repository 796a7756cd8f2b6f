package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tidings/client"
)

// A password that somebody has put into an address is in no error: those are printed,
// and kept by whoever runs the command.
func TestAPasswordOfAnAddressIsInNoError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/round") {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	for _, path := range []string{"/graphql", "/round"} {
		s := &client.Service{URL: strings.Replace(server.URL, "://", "://ann:pass-word@", 1) + path}
		_, err := s.Do(t.Context(), client.Operation{Query: "{ n }"})
		_, _, clock := s.Clock(t.Context())
		_, wsdl := s.WSDL(t.Context(), s.URL, false)
		_, endpoint := s.Endpoint(t.Context(), "")
		events := s.Watch(t.Context(), client.Watch{Operation: client.Operation{Query: "subscription { n }"}, Transport: client.SSE}, func(client.Event) error { return nil })
		for name, err := range map[string]error{"do": err, "clock": clock, "wsdl": wsdl, "endpoint": endpoint, "watch": events} {
			if name == "clock" && err == nil {
				continue // which any answer tells
			}
			if err == nil || strings.Contains(err.Error(), "pass-word") {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
	}
}

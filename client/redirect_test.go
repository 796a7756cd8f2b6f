package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidings/client"
)

// Token, password and input are for the address that was named, and not for one that
// is named by who answers there.
func TestARedirectTakesNothingToAnotherAddress(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
	t.Cleanup(other.Close)
	named := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(named.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	contract, err := client.ParseContract(smallWSDL)
	if err != nil {
		t.Fatal(err)
	}
	s := client.Service{URL: named.URL, Token: func() (string, error) { return "t", nil }}
	for name, try := range map[string]func() error{
		"an operation": func() error { _, err := s.Do(ctx, client.Operation{Query: "{ n }"}); return err },
		"a WSDL":       func() error { _, err := s.WSDL(ctx, named.URL, false); return err },
		"an event stream": func() error {
			return s.Watch(ctx, client.Watch{Operation: client.Operation{Query: "subscription { n }"}, Transport: client.SSE}, nil)
		},
		"a socket, then a stream": func() error {
			return s.Watch(ctx, client.Watch{Operation: client.Operation{Query: "subscription { n }"}}, nil)
		},
		"an envelope": func() error {
			_, _, err := s.Call(ctx, client.Envelope{Endpoint: named.URL, Contract: contract, Operation: "Get", User: "ada", Password: "p"})
			return err
		},
	} {
		err := try()
		refused, ok := errors.AsType[*client.Refusal](err)
		if !ok || refused.Code != "REDIRECTED" || !strings.Contains(refused.Message, other.URL) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := came.Load(); n > 0 {
		t.Errorf("%d requests came to the other address", n)
	}
}

func TestARedirectOnTheSameAddressIsFollowed(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusPermanentRedirect))
	mux.HandleFunc("/new", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			t.Error("the token is lost")
		}
		_, _ = w.Write([]byte(`{"data":{"n":1}}`))
	})
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusPermanentRedirect))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s := client.Service{URL: server.URL + "/old", Token: func() (string, error) { return "t", nil }}
	if a, err := s.Do(t.Context(), client.Operation{Query: "{ n }"}); err != nil || !a.Data {
		t.Errorf("%s %v", a.Body, err)
	}
	s.URL = server.URL + "/round"
	if _, err := s.Do(t.Context(), client.Operation{Query: "{ n }"}); err == nil {
		t.Error("it goes round and round")
	}
}

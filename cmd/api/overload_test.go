package main

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/resource"
)

// Who finds no place among the requests at work is told when to come again, in the
// words of the binding.
func limitOfRequests(t *testing.T) {
	s := newService(t, "--max-requests", "1")
	later := resource.Position{Log: s.edge.rooms.Bus.LogID(), Seq: 1 << 40}.String() // for which a query waits
	var busy sync.WaitGroup
	busy.Go(func() { s.post(t, request(`{ __typename }`), "Tidings-Position: "+later) })
	deadline := time.Now().Add(20 * time.Second)
	for {
		resp, body := s.post(t, request(`{ __typename }`))
		if resp.StatusCode == http.StatusServiceUnavailable {
			if resp.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"UNAVAILABLE","retryAfter":1`) {
				t.Errorf("%v %s", resp.Header, body)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is refused")
		}
	}
	for range 8 {
		leave, err := s.edge.rooms.Admission.Call(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	resp, text := s.call(t, "POST", "/v1/SocialService", envelope, "Content-Type: text/xml")
	if resp.StatusCode != http.StatusInternalServerError || resp.Header.Get("Retry-After") != "1" || !strings.Contains(text, "soap:Server") || !strings.Contains(text, "UNAVAILABLE") {
		t.Errorf("a SOAP call: %d %v %s", resp.StatusCode, resp.Header, text)
	}
	busy.Wait()
	if resp, body := s.post(t, request(`{ __typename }`)); resp.StatusCode != http.StatusOK {
		t.Errorf("when there is a place again: %d %s", resp.StatusCode, body)
	}
}

package edge

import (
	"bufio"
	"fmt"
	"net"
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

// Who sends an envelope byte by byte, and nobody knows who that is, must not keep
// others from calling.
func TestEnvelopesThatHaveNotComeHoldNoPlace(t *testing.T) {
	t.Parallel()
	s := newService(t, "--max-requests", "1")
	for range 16 { // eight places, and as many that wait
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// It is told to go on as soon as somebody reads the envelope, or why it should not.
		fmt.Fprintf(conn, "POST /v1/SocialService HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/xml\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(envelope))
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("one of those that are slow: %q %v", line, err)
		}
	}
	if _, text := s.call(t, "POST", "/v1/SocialService", envelope, "Content-Type: text/xml"); !strings.Contains(text, "NOT_FOUND") { // of a worker
		t.Errorf("another caller: %s", text)
	}
}

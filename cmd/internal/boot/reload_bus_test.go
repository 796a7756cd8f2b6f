package boot_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

const fedFromTheBus = `
type Note @resource @auth(requires: [USER]) { id: ID! text: String!%s }
type Reading { n: Int! }
type Subscription {
  kept: Reading @busSubscribe(subject: "kept.a", stream: "KEPT")
  heard: Reading @busSubscribe(subject: "heard.a")
}
`

// readings opens an event stream; next returns the next result.
func readings(t *testing.T, url, field string) (next func() (n int, lost bool)) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"query":"subscription { %s { n } }"}`, field)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() (int, bool) {
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var r struct {
				Data   map[string]*struct{ N int }
				Errors []struct{ Message string }
			}
			if err := json.Unmarshal([]byte(data), &r); err != nil {
				t.Fatal(data, err)
			}
			if len(r.Errors) > 0 && strings.Contains(r.Errors[0].Message, "may have been lost") {
				return 0, true
			}
			if r.Data[field] == nil {
				t.Fatal(data)
			}
			return r.Data[field].N, false
		}
		t.Fatal("the stream ended: ", lines.Err())
		return 0, false
	}
}

// What a stream keeps comes once and in order, whatever is reloaded; where
// nothing is kept, each reload shows as a possible gap.
func TestSubscriptionsThatTheBusFeedsGoOnAfterAReload(t *testing.T) {
	h := prepared(t, "--nats-listen", "127.0.0.1:0")
	hub := h.run(t)
	srv := httptest.NewServer(http.HandlerFunc(hub.SSE))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	nc, err := nats.Connect(h.Bus.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "KEPT", Subjects: []string{"kept.*"}, Storage: nats.MemoryStorage, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	h.reload(t, fmt.Sprintf(fedFromTheBus, ""))
	kept, heard := readings(t, srv.URL, "kept"), readings(t, srv.URL, "heard")
	until(t, "both subscribe", func() bool { e, done := h.Use(); defer done(); return e.Engine.Stats().Sinks == 2 })

	stop, published := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { published <- n }()
		for n < 3000 { // what waits for a client that reads at the end is bounded
			select {
			case <-stop:
				return
			default:
			}
			n++
			if _, err := js.Publish("kept.a", fmt.Appendf(nil, `{"n":%d}`, n)); err != nil {
				t.Error(err)
				return
			}
			_ = nc.Publish("heard.a", fmt.Appendf(nil, `{"n":%d}`, n))
		}
	}()
	reloads := []string{" @index", "", " size: Int"}
	for _, change := range reloads {
		h.reload(t, fmt.Sprintf(fedFromTheBus, change))
		until(t, "both are at the new engine", func() bool { e, done := h.Use(); defer done(); return e.Engine.Stats().Sinks == 2 })
	}
	close(stop)
	last := <-published
	_ = nc.Publish("heard.a", []byte(`{"n":-1}`))

	for want := range last {
		if n, lost := kept(); n != want+1 || lost {
			t.Fatalf("the stream gave %d (lost: %t) instead of %d", n, lost, want+1)
		}
	}
	var numbers []int
	gaps := 0
	for {
		n, lost := heard()
		if n == -1 {
			break
		}
		if lost {
			gaps++
		} else {
			numbers = append(numbers, n)
		}
	}
	if gaps != len(reloads) || !slices.IsSorted(numbers) || len(slices.Compact(numbers)) != len(numbers) {
		t.Errorf("%d gaps were told, %d numbers came", gaps, len(numbers))
	}
}

package soap_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/soap"
)

// When the last worker goes, callers are told so at once, however many there are,
// and when one comes back they are served again.
func TestWorkersGoAndComeBack(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	w := &world{Service: s, url: edge(t, s, trusting)}
	start := func() (stop func()) {
		t.Helper()
		stop = runService(t, newService(t, s, trusting, accounts(t), graphql.Options{}))
		deadline := time.Now().Add(30 * time.Second)
		for {
			resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, envelope11("", "<t:ListUsers/>"))
			switch {
			case resp.StatusCode == 200:
				return stop
			case resp.Header.Get("Retry-After") == "" || time.Now().After(deadline):
				t.Fatalf("%s: %s", resp.Status, answer)
			}
		}
	}
	for range 2 {
		start()()
		began := time.Now()
		for range 50 {
			resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, envelope11("", "<t:ListUsers/>"))
			if obeys(t, "no worker", resp, answer) != "UNAVAILABLE" || resp.Header.Get("Retry-After") != "5" || !strings.Contains(answer, "soap:Server") || !strings.Contains(answer, "<tns:retryAfterSeconds>5<") {
				t.Fatalf("%s: %s", resp.Status, answer)
			}
			resp, answer = w.post(t, http.Header{"Content-Type": {"application/soap+xml"}}, envelope12("", "<t:ListUsers/>"))
			if obeys(t, "no worker", resp, answer) != "UNAVAILABLE" || !strings.Contains(answer, "soap:Receiver") {
				t.Fatalf("%s: %s", resp.Status, answer)
			}
		}
		if took := time.Since(began); took > 10*time.Second { // each would wait so long for an answer
			t.Errorf("a hundred refusals took %s", took)
		}
	}
	start()
}

// A worker that dies with an envelope in its hands answers nothing. The gateway
// does not know whether it was a change and how far it came: it says so, and sends
// it to nobody else.
func TestAWorkerLostInTheMiddle(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{CallTimeout: 300 * time.Millisecond}), os.DirFS("../examples/social"), resource.FeedOptions{})
	var seen atomic.Int32
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range 2 { // another one would take it
		started := make(chan struct{})
		running.Go(func() {
			err := s.Bus.Serve(ctx, bus.Service{Name: "lost", Concurrency: 4, Started: func() { close(started) }, Endpoints: []bus.Endpoint{{
				Name: "lost", Subject: s.Bus.Subjects().SOAP("v1", "SocialService"),
				Handle: func(context.Context, bus.Message) ([]byte, bus.Header, error) {
					seen.Add(1)
					<-ctx.Done()
					return nil, nil, nil
				},
			}}})
			if err != nil {
				t.Error(err)
			}
		})
		<-started
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	w := &world{Service: s, url: edge(t, s, trusting)}
	resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, create("x"))
	if obeys(t, "lost", resp, answer) != "TIMEOUT" || resp.Header.Get("Retry-After") == "" || !strings.Contains(answer, "whether the call was carried out is not known") {
		t.Errorf("%s: %s", resp.Status, answer)
	}
	if n := seen.Load(); n != 1 {
		t.Errorf("%d workers got the envelope", n)
	}
}

// BenchmarkWorkers puts the queries of many callers to 1, 2 and 4 workers that do
// one thing at a time, each of which takes 5 ms of waiting: what a call waits for on
// another host, made plain, and no work of this one's cores. The calls a second
// grow with the workers.
func BenchmarkWorkers(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(strconv.Itoa(workers), func(b *testing.B) {
			s := resourcetest.New(b, os.DirFS("../examples/social"))
			o := trusting
			o.Concurrency = 1
			o.WaitFor = func(ctx context.Context, _ uint64) error {
				select {
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
				}
				return ctx.Err()
			}
			for range workers {
				serve(b, s, o)
			}
			await(b, s)
			gateway, err := soap.NewGateway(s.Bus, s.Model, o)
			if err != nil {
				b.Fatal(err)
			}
			b.SetParallelism(16)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := httptest.NewRequest(http.MethodPost, "/v1/SocialService", strings.NewReader(listUsers))
					r.Header.Set("Content-Type", "text/xml")
					w := httptest.NewRecorder()
					if gateway.ServeHTTP(w, r); w.Code != 200 {
						b.Errorf("%d: %s", w.Code, w.Body)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

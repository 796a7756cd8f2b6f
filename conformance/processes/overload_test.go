//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// An api that has as many connections as it may says so to each who comes, in the
// words of its transport, to load balancers and to nobody whom it has already; and
// takes others when some have left.
func TestAnAPIWithAllItsConnectionsTakesNoMore(t *testing.T) {
	t.Parallel()
	const most = 12
	c := startAPI(t, "api", t.TempDir(), nil, "--max-connections", fmt.Sprint(most))
	author := token(t, dataOf(c), "ada", "USER")
	mustPost(t, c.url, author, createUser("Ada", "ada@example.org"), new(any))
	var held []stream
	for i := range most {
		st, err := transports[i%len(transports)](t.Context(), c.url, anybody, postChanges)
		if err != nil {
			t.Fatal(err)
		}
		defer st.close()
		held = append(held, st)
	}
	full := func() error {
		if status, body := fetch(t, c.ready, anybody, ""); status != http.StatusServiceUnavailable {
			return fmt.Errorf("/readyz says %d %s", status, body)
		}
		return nil
	}
	poll(t, patience, "it is full", full)
	st, err := dialSocket(t.Context(), c.url, anybody, postChanges)
	if err == nil {
		defer st.close()
		_, err = st.next()
	}
	if refused, ok := errors.AsType[*websocket.CloseError](err); !ok || refused.Code != websocket.CloseTryAgainLater {
		t.Errorf("one socket too many: %v, want 1013", err)
	}
	req, err := graphqlRequest(t.Context(), c.url, anybody, postChanges)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one stream too many: %s %v", resp.Status, resp.Header)
	}
	if status, body := fetch(t, c.adminPort()+"/livez", anybody, ""); status != http.StatusOK {
		t.Errorf("/livez says %d %s", status, body)
	}
	mustPost(t, c.url, author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": "to all"}}}, new(any))
	for i, st := range held {
		r, err := st.next()
		if err == nil {
			_, err = readEvent(r)
		}
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	for _, st := range held[:most/2] {
		st.close()
	}
	c.waitReady(t)
	again, err := dialSocket(t.Context(), c.url, anybody, postChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if err := again.(*socket).stands(); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// costly is a query that needs the processor for some milliseconds.
const costly = `{ posts(first: 100) { nodes { id title author { id name posts(limit: 20) { id title createdAt } } } } }`

// An api that is asked three times as much as it can do answers about as much as it
// can, refuses the rest at once, tells its subscribers of everything, and is as
// before when it is over.
func TestAnAPIThatIsAskedTooMuchAnswersWhatItCan(t *testing.T) {
	const (
		workers = 8
		calm    = 3 * time.Second
		storm   = 5 * time.Second
	)
	a := startAPI(t, "api", t.TempDir(), []string{"GOMAXPROCS=1"}, "--max-requests", "32", "--cost-service", "-1")
	author, partner := token(t, dataOf(a), "ada", "USER"), token(t, dataOf(a), "partner", "SERVICE")
	mustPost(t, a.url, author, createUser("Ada", "ada@example.org"), new(any))
	w := &steadyWriter{apis: []*api{a}, token: author, ledger: newLedger()}
	for i := range 100 {
		if err := w.write(t.Context(), fmt.Sprintf("before %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	l := newGenerator(t, a, partner)
	peak := l.closed(t, workers, calm)
	rate := 3 * peak
	audience := gather(t, 8, anybody, []*api{a}, postChanges, func() { _ = w.write(t.Context(), textBefore) })
	w.ledger = newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writing sync.WaitGroup
	writing.Go(func() { w.run(ctx) })
	r := l.open(t, rate, storm)
	cancel()
	writing.Wait()
	t.Logf("at most %.0f answers a second; asked %.0f a second for %s, it answered %d, %.0f a second (%.0f %%), and refused %d; %d were not sent; answers took %s at the median, %s at the 99th percentile, refusals %s at the median",
		peak, rate, r.lasted, len(r.took), r.good(), 100*r.good()/peak, len(r.refused), r.left, percentile(r.took, 50), percentile(r.took, 99), percentile(r.refused, 50))
	if len(r.refused) == 0 {
		t.Error("nothing was refused")
	}
	if r.good() < peak/2 { // far more, on an idle machine
		t.Errorf("it answered %.0f a second, %.0f at its best", r.good(), peak)
	}
	if slow := percentile(r.took, 99); slow > 10*time.Second { // a second or two, on an idle machine
		t.Errorf("the slowest answers took %s", slow)
	}
	for _, err := range r.wrong {
		t.Error(err)
	}
	poll(t, patience, "it is as before", func() error {
		began := time.Now()
		_, err := post(t.Context(), a.url, partner, call{Query: costly})
		if took := time.Since(began); err == nil && took > time.Second {
			return fmt.Errorf("a query took %s", took)
		}
		return err
	})
	poll(t, patience, "the last post is made", func() error { return w.write(t.Context(), lastText) })
	w.ledger.check(t, audience.wait(t, patience))
}

// generator asks an api one query.
type generator struct {
	api    *api
	token  string
	client http.Client
}

func newGenerator(t testing.TB, a *api, token string) *generator {
	transport := &http.Transport{MaxIdleConnsPerHost: 4096}
	t.Cleanup(transport.CloseIdleConnections)
	return &generator{api: a, token: token, client: http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// loaded is what came of a load.
type loaded struct {
	mu      sync.Mutex
	took    []time.Duration // answers
	refused []time.Duration
	wrong   []error
	left    int           // not sent: too many were under way
	lasted  time.Duration // until the last answer
}

// good are the answers a second.
func (r *loaded) good() float64 { return float64(len(r.took)) / r.lasted.Seconds() }

func (g *generator) ask(ctx context.Context, r *loaded) {
	began := time.Now()
	status, err := g.status(ctx)
	took := time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.wrong = append(r.wrong, err)
	case status == http.StatusServiceUnavailable:
		r.refused = append(r.refused, took)
	default:
		r.took = append(r.took, took)
	}
}

func (g *generator) status(ctx context.Context) (int, error) {
	req, err := graphqlRequest(ctx, g.api.url, g.token, call{Query: costly})
	if err != nil {
		return 0, err
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		return 0, errors.New("a refusal does not say when to come again")
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, errors.New(resp.Status)
	}
	return resp.StatusCode, nil
}

// closed asks again as soon as it is answered, and returns the answers a second.
func (g *generator) closed(t testing.TB, workers int, long time.Duration) float64 {
	t.Helper()
	var r loaded
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				g.ask(t.Context(), &r)
			}
		})
	}
	wg.Wait()
	if len(r.took) == 0 || len(r.wrong) > 0 {
		t.Fatalf("%d answers, %v", len(r.took), r.wrong)
	}
	r.lasted = time.Since(start)
	return r.good()
}

// open asks at a rate, answered or not, with at most 1,000 requests under way: what
// comes on top is left out.
func (g *generator) open(t testing.TB, rate float64, long time.Duration) *loaded {
	t.Helper()
	r := new(loaded)
	under := make(chan struct{}, 1000)
	var wg sync.WaitGroup
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	start := time.Now()
	for due := 0.0; time.Since(start) < long; <-pace.C {
		for ; due < rate*time.Since(start).Seconds(); due++ {
			select {
			case under <- struct{}{}:
				wg.Go(func() {
					g.ask(t.Context(), r)
					<-under
				})
			default:
				r.left++
			}
		}
	}
	wg.Wait()
	r.lasted = time.Since(start)
	return r
}

func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, len(list)*p/100)].Round(time.Millisecond)
}

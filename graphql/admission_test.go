package graphql_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidings/fault"
	"tidings/graphql"
)

// Who finds no place waits for one, for half a second; the line is bounded.
func TestCallsWithoutAPlaceWaitForOneAndThenAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := graphql.NewAdmission(1, nil, nil) // eight calls
		var leaves []func()
		for range 8 {
			leave, err := a.Call(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		results := make(chan error, 8)
		var waiting sync.WaitGroup
		for range 8 {
			waiting.Go(func() {
				_, err := a.Call(t.Context())
				results <- err
			})
		}
		synctest.Wait()
		start := time.Now()
		if _, err := a.Call(t.Context()); !fault.Is(err, fault.Unavailable) || fault.Of(err).RetryAfter == 0 || time.Since(start) != 0 {
			t.Errorf("one too many for the line: %v after %s", err, time.Since(start))
		}
		leaves[0]()
		synctest.Wait()
		if err := <-results; err != nil {
			t.Errorf("one place was free: %v", err)
		}
		waiting.Wait()
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("they waited for %s", took)
		}
		for range 7 {
			if err := <-results; !fault.Is(err, fault.Unavailable) {
				t.Errorf("got %v", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Call(ctx); err != context.Canceled {
			t.Errorf("of a caller who has gone: %v", err)
		}
		var none *graphql.Admission
		leave, err := none.Call(t.Context())
		if err != nil {
			t.Error(err)
		}
		leave()
	})
}

// A query that finds no place is told when to come again, in both media types, and
// mutations, and what is the service's own, find theirs.
func TestAQueryWithoutAPlaceIsRefused(t *testing.T) {
	t.Parallel()
	list, begun, release := functions(), make(chan struct{}), make(chan struct{})
	list["Query.explode"] = graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) {
		begun <- struct{}{}
		<-release
		return "done", nil
	}}
	s := newService(t, graphql.Options{Admission: graphql.NewAdmission(1, nil, nil), Functions: list})
	var busy sync.WaitGroup
	busy.Go(func() { s.engine.Execute(t.Context(), nobody, graphql.Request{Query: `{ explode }`}) })
	<-begun
	for _, accept := range []string{"application/json", "application/graphql-response+json"} {
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query": "{ __typename }"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", accept)
		x := &graphql.Exchange{}
		w := httptest.NewRecorder()
		s.engine.ServeHTTP(w, r.WithContext(graphql.WithExchange(r.Context(), x)))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"code":"UNAVAILABLE","retryAfter":1`) || x.Faulty() {
			t.Errorf("%s: %d %v %s, worth a line: %v", accept, w.Code, w.Header(), w.Body, x.Faulty())
		}
	}
	resp := s.engine.Execute(t.Context(), nobody, graphql.Request{Query: `{ __typename }`})
	if resp.Code != fault.Unavailable || resp.RetryAfter != time.Second {
		t.Errorf("over a socket: %+v", resp)
	}
	if resp := s.engine.Execute(t.Context(), nobody, graphql.Request{Query: `{ __typename }`, Trusted: true}); resp.Code != "" {
		t.Errorf("what was admitted before: %+v", resp)
	}
	close(release)
	busy.Wait()
	wantData(t, s.run(t, nobody, `{ __typename }`, ""), `{"__typename":"Query"}`)
}

// stuck is the connection of a client that takes no answer.
type stuck struct {
	http.ResponseWriter
	reached, release chan struct{}
}

func (s stuck) Write(b []byte) (int, error) {
	close(s.reached)
	<-s.release
	return len(b), nil
}

// Who asks for a lot and takes it slowly must not keep others from asking.
func TestWhoDoesNotTakeAnAnswerHoldsNoPlace(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Admission: graphql.NewAdmission(1, nil, nil)})
	ask := func(w http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query": "{ __typename }"}`))
		r.Header.Set("Content-Type", "application/json")
		s.engine.ServeHTTP(w, r)
	}
	slow := stuck{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	var asking sync.WaitGroup
	asking.Go(func() { ask(slow) })
	<-slow.reached
	w := httptest.NewRecorder()
	if ask(w); w.Code != http.StatusOK {
		t.Errorf("another client: %d %s", w.Code, w.Body)
	}
	close(slow.release)
	asking.Wait()
}

package graphql_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidings/fault"
	"tidings/graphql"
	"tidings/quota"
)

// from is a context of a call that comes from an address.
func from(ctx context.Context, address string) context.Context {
	return quota.WithClient(ctx, netip.MustParseAddr(address))
}

// One caller does not get all places, however much it asks for, and of those who wait
// it is the last to get one.
func TestOneCallerLeavesPlacesForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := graphql.NewAdmission(1, nil, nil) // eight calls, six of one caller
		greedy, modest, third := from(t.Context(), "192.0.2.1"), from(t.Context(), "192.0.2.2"), from(t.Context(), "192.0.2.3")
		enter := func(ctx context.Context) func() {
			t.Helper()
			leave, err := a.Call(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		var held []func()
		for range 6 {
			held = append(held, enter(greedy))
		}
		entered := make(chan string, 20)
		var waiting sync.WaitGroup
		wait := func(ctx context.Context, name string) {
			waiting.Go(func() {
				leave, err := a.Call(ctx)
				if err != nil {
					entered <- fmt.Sprintf("%s: %s", name, fault.Of(err).Code)
					return
				}
				entered <- name
				<-t.Context().Done()
				leave()
			})
			synctest.Wait()
		}
		for range 6 {
			wait(greedy, "greedy")
		}
		begun := time.Now()
		if _, err := a.Call(greedy); !fault.Is(err, fault.Unavailable) || time.Since(begun) > 0 {
			t.Errorf("the greedy one has %v of the queue, too, after %s", err, time.Since(begun))
		}
		enter(modest) // there are places for others, at once
		enter(modest)
		wait(third, "third")
		if len(entered) != 0 {
			t.Fatalf("%s came in, and there was no place", <-entered)
		}
		held[0]()
		synctest.Wait()
		if who := <-entered; who != "third" { // the last who came has the least
			t.Errorf("%s was next", who)
		}
		held[1]()
		synctest.Wait()
		if who := <-entered; who != "greedy" {
			t.Errorf("%s was next", who)
		}
		time.Sleep(time.Second)
		for range 5 {
			if who := <-entered; who != "greedy: UNAVAILABLE" {
				t.Errorf("%s", who)
			}
		}
	})
}

// Subjects are told apart wherever they come from, and a caller who has gone leaves
// its place in the queue.
func TestPlacesAreSharedAmongSubjects(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	list := functions()
	list["Query.explode"] = graphql.Function{Resolve: func(ctx context.Context, _ graphql.Call) (any, error) {
		begun <- struct{}{}
		<-release
		return "done", nil
	}}
	s := newService(t, graphql.Options{Admission: graphql.NewAdmission(4, nil, nil), Functions: list})
	var busy sync.WaitGroup
	ctx := from(t.Context(), "192.0.2.1")
	for range 3 {
		busy.Go(func() { s.engine.Execute(ctx, ada, graphql.Request{Query: `{ explode }`}) })
		<-begun
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if resp := s.engine.Execute(gone, ada, graphql.Request{Query: `{ __typename }`}); resp.Code == "" {
		t.Error("a fourth place for the first")
	}
	if resp := s.engine.Execute(ctx, ben, graphql.Request{Query: `{ __typename }`}); resp.Code != "" {
		t.Errorf("of the same address, another subject: %s", resp.Code)
	}
	close(release)
	busy.Wait()
	if resp := s.engine.Execute(ctx, ada, graphql.Request{Query: `{ __typename }`}); resp.Code != "" {
		t.Errorf("when there is a place: %s", resp.Code)
	}
}

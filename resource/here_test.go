package resource_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// Commands that this process carries out itself keep unique values unique among
// each other and with those that come over the bus.
func TestUniqueValuesHoldBetweenCommandsHereAndOverTheBus(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	schema := fstest.MapFS{"s.graphql": {Data: []byte(`
		type Item @resource @auth(requires: ANYONE) {
			id: ID!
			 name: String! @unique }`)}}
	far := resourcetest.On(t, b, schema, resource.FeedOptions{})
	near := resourcetest.Reader(t, b, schema, resource.FeedOptions{})
	w := resource.NewWorker(b, near.Model, resource.WorkerOptions{Concurrency: 4}) // what comes on top goes over the bus
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	defer running.Wait()
	defer cancel()
	<-w.Ready()
	near.Client.Use(w)

	var wg sync.WaitGroup
	var won, lost [2]int
	var mu sync.Mutex
	for i := range 40 {
		wg.Go(func() {
			clients := []*resource.Client{near.Client, far.Client}
			r, err := clients[i%2].Submit(t.Context(), resource.Command{Type: "Item", Verb: resource.Create, Who: admin, Input: json.RawMessage(`{"name":"one"}`)})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && r.Seq > 0:
				won[i%2]++
			case fault.Is(err, fault.Conflict):
				lost[i%2]++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won[0]+won[1] != 1 || lost[0]+lost[1] != 39 {
		t.Errorf("%v won, %v lost", won, lost)
	}
}

// A caller who leaves does not stop what was begun, and a command that is
// refused is refused alike.
func TestACommandHereIsAnsweredAsOverTheBus(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(`
		type Item @resource @auth(requires: ANYONE) {
			id: ID!
			 name: String! @unique }`)}})
	over := resource.NewClient(s.Bus, s.Model, s.View, s.Feed)
	w := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	defer running.Wait()
	defer cancel()
	<-w.Ready()
	s.Client.Use(w)
	for name, cmd := range map[string]resource.Command{
		"no name":   {Type: "Item", Verb: resource.Create, Who: admin, Input: json.RawMessage(`{}`)},
		"no record": {Type: "Item", Verb: resource.Update, Who: admin, Input: json.RawMessage(`{"id":"x","name":"n"}`)},
		"a bad id":  {Type: "Item", Verb: resource.Create, Who: admin, Input: json.RawMessage(`{"name":"n"}`), ID: "a b"},
	} {
		_, here := s.Client.Submit(t.Context(), cmd)
		_, there := over.Submit(t.Context(), cmd)
		if here == nil || there == nil || here.Error() != there.Error() || fault.Of(here).Code != fault.Of(there).Code {
			t.Errorf("%s: here %v, over the bus %v", name, here, there)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if r, err := s.Client.Submit(gone, resource.Command{Type: "Item", Verb: resource.Create, Who: admin, Input: json.RawMessage(`{"name":"kept"}`)}); err != nil || r.Seq == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

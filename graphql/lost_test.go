package graphql_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/view"
)

// A process that reads the log so late that some of it was trimmed must not
// leave its subscribers in the belief that they had heard everything.
func TestASubscriberIsToldOfChangesThatThisProcessMissed(t *testing.T) {
	t.Parallel()
	const history = 4
	b := bustest.Open(t, bus.Options{History: history})
	s := &service{Service: resourcetest.On(t, b, fstest.MapFS{"s.graphql": {Data: []byte(taskSchema)}}, resource.FeedOptions{})}
	v, err := view.Open(t.Context(), s.Model, b.LogID(), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	late := resource.NewFeed(b, s.Model, v, resource.FeedOptions{})
	e, err := graphql.New(s.Model, resource.NewClient(b, s.Model, v, late), late, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	lost := idOf(t, s.task(t, resource.Create, `{"state":"0"}`).Raw)
	for i := range history {
		s.task(t, resource.Update, `{"id":%q,"state":"%d"}`, lost, i+1)
	}
	kept := idOf(t, s.task(t, resource.Create, `{"state":"0"}`).Raw)
	boxes := map[string]*inbox{}
	for _, args := range []string{``, `(filter: {state: {eq: "0"}})`, fmt.Sprintf(`(id: %q)`, lost), fmt.Sprintf(`(id: %q)`, kept)} {
		boxes[args] = newInbox()
		if _, failed := e.Subscribe(t.Context(), admin, graphql.Request{Query: `subscription { taskChanged` + args + ` { kind } }`}, "", boxes[args]); failed != nil {
			t.Fatalf("%s", failed.Body)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = late.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	boxes[fmt.Sprintf(`(id: %q)`, kept)].awaitCount(t, 1)
	delete(boxes, fmt.Sprintf(`(id: %q)`, kept))
	for _, box := range boxes {
		box.awaitEnd(t, fault.CursorExpired)
	}
}

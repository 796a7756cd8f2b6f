package graphql_test

import (
	"strings"
	"sync"
	"testing"

	"tidings/fault"
	"tidings/graphql"
)

func TestAMessageThatCannotBeReadEndsNothing(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	if err := x.engine.Unreadable("heard", []byte(`{"must":1}`)); !fault.Is(err, fault.Internal) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(x.log.String(), "a message could not be read") {
		t.Error(x.log)
	}
}

// Subscribers come and go, some with cursors, while their stream is deleted and
// created again: each is refused, ended, or served, and nothing stays behind.
func TestSubscribersComeAndGoWhileTheirStreamDoes(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	js := x.stream(t)
	var wg sync.WaitGroup
	gone := make(chan struct{})
	for range 6 {
		wg.Go(func() {
			after := ""
			for turn := 0; ; turn++ {
				select {
				case <-gone:
					return
				default:
				}
				b := newInbox()
				stop, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: keptQuery}, after, b)
				if failed != nil {
					if failed.Code != fault.CursorExpired && failed.Code != fault.Unavailable {
						t.Errorf("refused: %s", failed.Body)
					}
					after = ""
					continue
				}
				b.await(t, "a result, or the end", func() bool {
					_, ended := b.over()
					return ended || b.count() > 0 || closed(gone)
				})
				if n := b.count(); n > 0 && turn%2 == 0 {
					after = b.cursor(n - 1)
				}
				stop()
			}
		})
	}
	for range 4 {
		for n := range 30 {
			store(t, js, "kept.a", `{"must":%d}`, n+1)
		}
		if err := js.DeleteStream("KEPT"); err != nil {
			t.Error(err)
		}
		x.stream(t)
	}
	close(gone)
	for n := range 3 { // wakes those who wait
		store(t, js, "kept.a", `{"must":%d}`, n+1)
	}
	wg.Wait()
	x.gone(t)
	b := newInbox()
	x.subscribe(t, nobody, keptQuery, "", b)
	store(t, js, "kept.a", `{"must":9}`)
	b.awaitCount(t, 1)
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// gone checks that no group is left.
func (x *bound) gone(t testing.TB) {
	t.Helper()
	if got := x.engine.Stats(); got.Groups != 0 || got.Sinks != 0 {
		t.Errorf("%+v", got)
	}
}

// Whoever catches up while the engine closes is told so, once.
func TestCloseEndsReplaysOfStreams(t *testing.T) {
	t.Parallel()
	first := newBound(t, graphql.Options{})
	js := first.stream(t)
	for n := range 300 {
		store(t, js, "kept.a", `{"must":%d}`, n+1)
	}
	after := start(t, first)
	for range 10 {
		x := boundOn(t, first.Service, first.Bus.URL(), graphql.Options{})
		inboxes := make(chan *inbox, 100)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				for range 10 {
					b := newInbox()
					if _, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: keptQuery}, after, b); failed != nil {
						if failed.Code != fault.Unavailable {
							t.Errorf("%s", failed.Body)
						}
						return
					}
					inboxes <- b
				}
			})
		}
		one := <-inboxes
		one.awaitCount(t, 1)
		x.engine.Close()
		wg.Wait()
		one.awaitEnd(t, fault.Unavailable)
		for len(inboxes) > 0 {
			(<-inboxes).awaitEnd(t, fault.Unavailable)
		}
	}
}

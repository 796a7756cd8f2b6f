package graphql_test

import (
	"slices"
	"strings"
	"testing"

	"tidings/graphql"
)

// move subscribes as one does who was at another engine before.
func (x *bound) move(t testing.TB, query, after string, b *inbox) {
	t.Helper()
	stop, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: query, Moved: true}, after, b)
	if failed != nil {
		t.Fatalf("refused: %s", failed.Body)
	}
	t.Cleanup(stop)
}

const missed = `{"data":{"heard":null},"errors":[{"message":"messages may have been lost here`

func TestWhoMovesIsToldOfAGapWhereNothingIsKept(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	moved, stayed := newInbox(), newInbox()
	x.subscribe(t, nobody, heard, "", stayed)
	x.move(t, heard, "", moved)
	x.publish(t, "live.a", `{"must":1}`)
	moved.awaitCount(t, 2)
	stayed.awaitCount(t, 1)
	if !strings.Contains(moved.payload(0), missed) {
		t.Errorf("first came %s", moved.payload(0))
	}
	if strings.Contains(stayed.payload(0), "lost") {
		t.Errorf("another subscriber got %s", stayed.payload(0))
	}
}

func TestWhoMovesGoesOnAtItsPlaceInAStream(t *testing.T) {
	t.Parallel()
	x, y := twoBound(t)
	js := x.stream(t)
	first, then := newInbox(), newInbox()
	stop := x.subscribe(t, nobody, keptQuery, "", first)
	for n := range 3 {
		store(t, js, "kept.a", `{"must":%d}`, n+1)
	}
	first.awaitCount(t, 3)
	stop()
	store(t, js, "kept.a", `{"must":4}`)
	y.move(t, keptQuery, first.cursor(2), then)
	store(t, js, "kept.a", `{"must":5}`)
	then.awaitCount(t, 2)
	if got := then.numbers(t); !slices.Equal(got, []int{4, 5}) {
		t.Errorf("got %v", got)
	}
}

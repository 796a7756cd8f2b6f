package graphql_test

import (
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
)

// What was read before the log went away is told, although the reading goes on
// behind it.
func TestASlowSubscriberMissesNothingWhenTheLogIsAway(t *testing.T) {
	t.Parallel()
	s := latest(t, bustest.Open(t, bus.Options{History: 10_000}), 8)
	if err := graphql.Interrupt(s.engine); err != nil {
		t.Fatal(err)
	}
	slow := newNarrow(t, 1)
	query := `subscription { taskChanged ` + taskSelection + ` }`
	if _, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: query}, "", slow); failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	last := uint64(0)
	for range 400 { // more than one piece
		last = s.task(t, resource.Create, `{"ownerId":"ada","state":"a","rank":3}`).Seq
	}
	s.awaitSeq(t, last)
	slow.read(1 << 30)
	slow.settles("all are there", s.listed(t, admin, `{}`))
}

package graphql_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tidings/fault"
	"tidings/graphql"
)

// former is a store of which a copy answers that is not in charge any more and
// does not know it: it refuses what the others keep.
type former struct {
	graphql.Store
	writes atomic.Int64
}

func (f *former) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	revision, err := f.Store.Put(ctx, key, value, revision)
	if err == nil && f.writes.Add(1) == 1 {
		return 0, fault.New(fault.Conflict, "the key was written meanwhile")
	}
	return revision, err
}

// Who has claimed a key, and was told otherwise, does not wait for himself.
func TestAClaimThatAFormerLeaderRefusesIsKnownAgain(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	before := s.end(t)
	doubts := s.with(t, graphql.Options{Timeout: time.Minute, Answers: &former{Store: answers(t, s.Bus)}})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	first := doubts.engine.Execute(ctx, ada, post("T", "k"))
	if first.Code != "" || s.end(t) != before+1 {
		t.Fatalf("%s", first.Body)
	}
	again := s.engine.Execute(t.Context(), ada, post("T", "k"))
	if string(again.Body) != string(first.Body) || !again.Replayed {
		t.Errorf("first %s\nagain %s", first.Body, again.Body)
	}
}

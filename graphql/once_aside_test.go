package graphql_test

import (
	"context"
	"sync"
	"testing"

	"tidings/graphql"
)

// Who waits for the first request with its key does so in nobody's place.
func TestWhoWaitsForAKeyWaitsAside(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{})
	s := keeping(t, graphql.Options{})
	held := &holding{Store: answers(t, s.Bus), claimed: make(chan struct{}), kept: make(chan struct{})}
	s = s.with(t, graphql.Options{Answers: held, Aside: func(_ context.Context, wait func()) {
		close(waits)
		wait()
	}})
	done := make(chan graphql.Response, 2)
	go func() { done <- s.engine.Execute(t.Context(), ada, post("T", "k")) }()
	<-held.claimed
	go func() { done <- s.engine.Execute(t.Context(), ada, post("T", "k")) }()
	<-waits
	close(held.kept)
	a, b := <-done, <-done
	if a.Replayed == b.Replayed || string(a.Body) != string(b.Body) {
		t.Errorf("%s, %s", a.Body, b.Body)
	}
}

// holding is a store that keeps an answer only when it may.
type holding struct {
	graphql.Store
	first         sync.Once
	claimed, kept chan struct{}
}

func (h *holding) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if revision > 0 {
		<-h.kept
	}
	revision, err := h.Store.Put(ctx, key, value, revision)
	h.first.Do(func() { close(h.claimed) })
	return revision, err
}

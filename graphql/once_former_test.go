package graphql_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
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

// mute is a store that does not answer for the first write, and has kept it or not.
type mute struct {
	graphql.Store
	keeps  bool
	writes atomic.Int64
}

func (m *mute) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if m.writes.Add(1) > 1 {
		return m.Store.Put(ctx, key, value, revision)
	}
	if m.keeps {
		if _, err := m.Store.Put(ctx, key, value, revision); err != nil {
			return 0, err
		}
	}
	return 0, bus.ErrUnknownOutcome
}

// Who claims a key and gets no answer, since the one who leads the store was lost
// with it, looks and claims it again.
func TestAClaimThatGotNoAnswerIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"kept": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keeping(t, graphql.Options{})
			before := s.end(t)
			doubts := s.with(t, graphql.Options{Timeout: time.Minute, Answers: &mute{Store: answers(t, s.Bus), keeps: keeps}})
			first := doubts.engine.Execute(t.Context(), ada, post("T", "k"))
			if first.Code != "" || s.end(t) != before+1 {
				t.Fatalf("%s", first.Body)
			}
			if again := s.engine.Execute(t.Context(), ada, post("T", "k")); string(again.Body) != string(first.Body) || !again.Replayed {
				t.Errorf("first %s\nagain %s", first.Body, again.Body)
			}
		})
	}
}

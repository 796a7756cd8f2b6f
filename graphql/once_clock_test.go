package graphql_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidings/graphql"
)

// ahead is the store of a process whose clock is an hour ahead, and that dies
// before its second write.
type ahead struct {
	graphql.Store
	writes atomic.Int64
}

func (a *ahead) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if a.writes.Add(1) > 1 {
		return 0, errors.New("killed")
	}
	line, _, _ := bytes.Cut(value, []byte("\n"))
	var entry map[string]any
	if err := json.Unmarshal(line, &entry); err != nil {
		return 0, err
	}
	entry["until"] = time.Now().Add(time.Hour).UTC()
	line, err := json.Marshal(entry)
	if err != nil {
		return 0, err
	}
	return a.Store.Put(ctx, key, append(line, '\n'), revision)
}

func TestAKeyIsNotHeldByAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{})
	before := s.end(t)
	dies := s.with(t, graphql.Options{Answers: &ahead{Store: answers(t, s.Bus)}})
	if first := dies.engine.Execute(t.Context(), ada, post("T", "k")); first.Code != "" {
		t.Fatal(string(first.Body))
	}
	again := s.engine.Execute(t.Context(), ada, post("T", "k"))
	if !strings.Contains(string(again.Body), `"title":"T"`) || s.end(t) != before+1 {
		t.Errorf("%s", again.Body)
	}
}

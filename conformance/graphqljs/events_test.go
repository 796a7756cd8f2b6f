//go:build conformance

package graphqljs_test

import (
	"encoding/json"
	"testing"
	"time"

	"tidings/graphql"
	"tidings/resource"
)

// sink takes one result.
type sink chan []byte

func (s sink) Next(payload []byte, _ string) bool {
	select {
	case s <- payload:
		return true
	default:
		return false
	}
}

func (s sink) End([]byte) { close(s) }

// TestEventsAreTheSame runs subscriptions on both sides, on real changes.
func TestEventsAreTheSame(t *testing.T) {
	r := newRig(t)
	t.Cleanup(r.engine.Close)
	requests := r.documents(t, "testdata/subscriptions.txtar")
	probe := request{name: "probe", as: "admin", Query: `subscription { userChanged { kind id at cursor } }`}
	for _, change := range []resource.Command{
		{Type: "User", Verb: resource.Update, Input: json.RawMessage(`{"id":"ada","name":"Ada <L>","avatar":null}`)},
		{Type: "User", Verb: resource.Delete, Input: json.RawMessage(`{"id":"eve"}`)},
	} {
		results := r.deliver(t, change, append([]request{probe}, requests...))
		var probed struct {
			Data struct{ UserChanged map[string]any }
		}
		if err := json.Unmarshal(results[0], &probed); err != nil {
			t.Fatal(err)
		}
		event := probed.Data.UserChanged
		if change.Verb == resource.Update {
			event["user"] = r.records["User"][0]
		}
		for i := range requests {
			requests[i].Event = map[string]any{"userChanged": event}
		}
		ref := r.ask(t, requests, nil)
		for i, req := range requests {
			if diff := difference(decode(t, results[i+1]), ref.Results[i]); diff != "" {
				want, _ := json.Marshal(ref.Results[i])
				t.Errorf("%s of %s: %s\n%s\nours      %s\nreference %s", change.Verb, req.name, diff, req.Query, results[i+1], want)
			}
		}
	}
}

// deliver subscribes to everything, makes the change and returns what arrived.
func (r *rig) deliver(t *testing.T, change resource.Command, requests []request) [][]byte {
	t.Helper()
	sinks := make([]sink, len(requests))
	for i, req := range requests {
		sinks[i] = make(sink, 1)
		stop, failed := r.engine.Subscribe(t.Context(), callers[req.as], graphql.Request{Query: req.Query, Variables: req.Variables}, "", sinks[i])
		if failed != nil {
			t.Fatalf("%s: %s", req.name, failed.Body)
		}
		defer stop()
	}
	change.Who = callers["admin"]
	record, err := r.client.Submit(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	if change.Verb == resource.Update {
		r.records["User"][0] = record.Raw
	}
	results := make([][]byte, len(requests))
	for i := range results {
		select {
		case results[i] = <-sinks[i]:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: nothing arrived", requests[i].name)
		}
	}
	return results
}

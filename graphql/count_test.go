package graphql_test

import (
	"os"
	"testing"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// numbers is a sink that keeps what it is given.
type numbers struct {
	got  []string
	done chan []byte
}

func (n *numbers) Next(payload []byte, _ string) bool {
	n.got = append(n.got, string(payload))
	return true
}

func (n *numbers) End(errors []byte) { n.done <- errors }

func TestTheExampleCounts(t *testing.T) {
	t.Parallel()
	s := resourcetest.Reader(t, bustest.New(t), os.DirFS("../examples/social"), resource.FeedOptions{})
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	sink := &numbers{done: make(chan []byte)}
	stop, failed := e.Subscribe(t.Context(), auth.Principal{}, graphql.Request{Query: `subscription { count(target: 2) }`}, "", sink)
	if failed != nil {
		t.Fatal(string(failed.Body))
	}
	defer stop()
	if errs := <-sink.done; errs != nil || len(sink.got) != 2 || sink.got[1] != `{"data":{"count":2}}` {
		t.Errorf("%v, %s", sink.got, errs)
	}
}

//go:build conformance

package processes

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// readLog reads every post of the log from the bus itself, as docs/bus.md says:
// what the subscribers were told must be this, in this order.
func (c *cluster) readLog(t testing.TB) []event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	nc, err := nats.Connect(c.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	posts, err := js.OrderedConsumer(ctx, "tidings-log", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"tidings.log.Post.*"}})
	if err != nil {
		t.Fatal(err)
	}
	var log []event
	for {
		batch, err := posts.FetchNoWait(1000)
		if err != nil {
			t.Fatal(err)
		}
		before := len(log)
		for m := range batch.Messages() {
			var r record
			if err := json.Unmarshal(m.Data(), &r); err != nil {
				t.Fatalf("%s: %v", m.Subject(), err)
			}
			log = append(log, event{ID: strings.TrimPrefix(m.Subject(), "tidings.log.Post."), Kind: m.Headers().Get("Tidings-Kind"), Text: r.Title})
		}
		if err := batch.Error(); err != nil {
			t.Fatal(err)
		}
		if len(log) == before {
			return log
		}
	}
}

// checkLog compares what subscribers were told with the log.
func (c *cluster) checkLog(t testing.TB, events []event) {
	t.Helper()
	log := c.readLog(t)
	for len(log) > len(events) && log[0].Text == textBefore {
		log = log[1:] // what they began after
	}
	plain := make([]event, len(events))
	for i, e := range events {
		plain[i] = event{ID: e.ID, Kind: e.Kind, Text: e.Text}
	}
	same(t, "the log", "the audience", log, plain)
}

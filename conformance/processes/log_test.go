//go:build conformance

package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stored is one message of the log.
type stored struct {
	Seq     uint64
	Subject string
	Kind    string
	Command string // id of the command that made the change
	After   string // sequence of the subject's message before it
	Trace   string // of the span that wrote it; empty: it was not recorded
	Data    []byte
}

// readLog reads every post of the log: what the subscribers were told must be
// this, in this order.
func (c *cluster) readLog(t testing.TB) (log []event) {
	t.Helper()
	return eventsOf(t, c.readStored(t, "tidings.log.Post.*"), "Post")
}

// eventsOf is what subscribers are told of the messages of one type.
func eventsOf(t testing.TB, log []stored, typ string) (events []event) {
	t.Helper()
	for _, m := range log {
		id, ok := strings.CutPrefix(m.Subject, "tidings.log."+typ+".")
		if !ok {
			continue
		}
		var r record
		if err := json.Unmarshal(m.Data, &r); err != nil {
			t.Fatalf("%s: %v", m.Subject, err)
		}
		e := event{ID: id, Kind: m.Kind, Text: r.Title + r.Name}
		if e.Kind == "DELETED" {
			e.Text = deletion(id)
		}
		events = append(events, e)
	}
	return events
}

// readStored reads the messages of the log from the bus itself, as docs/bus.md says.
func (c *cluster) readStored(t testing.TB, filter string) (log []stored) {
	t.Helper()
	nc, err := nats.Connect(c.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	poll(t, patience, "the log is read", func() (err error) {
		log, err = readStored(t.Context(), nc, filter)
		return err
	})
	return log
}

func readStored(ctx context.Context, nc *nats.Conn, filter string) (log []stored, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "tidings-log")
	if err != nil {
		return nil, err
	}
	last, err := stream.GetLastMsgForSubject(ctx, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// One consumer for the whole of it: each fetch of an ordered consumer would
	// make another one, and those that a fault leaves behind weigh on the servers
	// for as long as they last.
	consumer, err := js.OrderedConsumer(ctx, "tidings-log", jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}, InactiveThreshold: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1000))
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for len(log) == 0 || log[len(log)-1].Seq < last.Sequence {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, fmt.Errorf("%d messages were read, and not the one at %d: %w", len(log), last.Sequence, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		log = append(log, stored{
			Seq: meta.Sequence.Stream, Subject: m.Subject(), Kind: m.Headers().Get("Tidings-Kind"), Command: m.Headers().Get("Tidings-Command"),
			After: m.Headers().Get("Nats-Expected-Last-Subject-Sequence"), Trace: m.Headers().Get("traceparent"), Data: m.Data(),
		})
	}
	return log, nil
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

//go:build conformance

package processes

import (
	"context"
	"encoding/json"
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
	nc, err := nats.Connect(c.bus, c.auditor...)
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
	last, err := lastStored(ctx, nc, filter)
	if err != nil || last == 0 {
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
	for at, more := uint64(0), true; more || at < last; {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, fmt.Errorf("%d messages were read, and not the one at %d: %w", len(log), last, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		at, more = meta.Sequence.Stream, meta.NumPending > 0
		log = append(log, stored{
			Seq: meta.Sequence.Stream, Subject: m.Subject(), Kind: m.Headers().Get("Tidings-Kind"), Command: m.Headers().Get("Tidings-Command"),
			After: m.Headers().Get("Nats-Expected-Last-Subject-Sequence"), Trace: m.Headers().Get("traceparent"), Data: m.Data(),
		})
	}
	return log, nil
}

// lastStored is the sequence of the last message of a filter as the leader says,
// since a copy may be behind; 0 when there is none.
func lastStored(ctx context.Context, nc *nats.Conn, filter string) (uint64, error) {
	m, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET.tidings-log", fmt.Appendf(nil, `{"last_by_subj":%q}`, filter))
	if err != nil {
		return 0, err
	}
	var answer struct {
		Error   *jetstream.APIError
		Message struct{ Seq uint64 }
	}
	switch err := json.Unmarshal(m.Data, &answer); {
	case err != nil:
		return 0, err
	case answer.Error != nil && answer.Error.ErrorCode != jetstream.JSErrCodeMessageNotFound:
		return 0, answer.Error
	}
	return answer.Message.Seq, nil
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

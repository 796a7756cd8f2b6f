package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/schema"
)

// The headers of a record's message (docs/bus.md).
const (
	headerKind    = "Tidings-Kind"
	headerActor   = "Tidings-Actor"
	headerCommand = "Tidings-Command"
)

// maxAttempts bounds how often a command is decided anew because others wrote
// in between. Each attempt that loses means that another command has won.
const maxAttempts = 32

// WorkerOptions tunes a worker. The zero value is good.
type WorkerOptions struct {
	// Concurrency is how many commands are carried out side by side. Zero
	// means 64: they wait for the log most of the time.
	Concurrency int
	// Now and NewID replace the clock and the source of ids; nil means the
	// time in microseconds and UUIDv7.
	Now   func() time.Time
	NewID func() string
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Worker carries out commands: it reads the record, decides, and appends what
// was decided. Any number of workers may run; the log's expected sequences
// keep them from overwriting each other.
type Worker struct {
	bus         *bus.Bus
	model       *schema.Model
	concurrency int
	now         func() time.Time
	newID       func() string
	log         *slog.Logger
}

// NewWorker returns a worker. Run makes it go.
func NewWorker(b *bus.Bus, m *schema.Model, o WorkerOptions) *Worker {
	w := &Worker{bus: b, model: m, concurrency: o.Concurrency, now: o.Now, newID: o.NewID, log: o.Logger}
	if w.concurrency == 0 {
		w.concurrency = 64
	}
	if w.now == nil {
		w.now = timeNow
	}
	if w.newID == nil {
		w.newID = newID
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	return w
}

// Run answers the commands of every resource until ctx ends, and returns after
// those that had begun are done.
func (w *Worker) Run(ctx context.Context) error {
	var endpoints []bus.Endpoint
	for _, r := range w.model.Resources {
		for _, verb := range []Verb{Create, Update, Delete} {
			endpoints = append(endpoints, bus.Endpoint{
				Name:    string(verb) + "-" + r.Name,
				Subject: w.bus.Subjects().Command(r.Name, string(verb)),
				Handle:  w.handler(r.Name, verb),
			})
		}
	}
	return w.bus.Serve(ctx, "tidings-worker", "carries out commands", w.concurrency, endpoints...)
}

func (w *Worker) handler(typ string, verb Verb) func(context.Context, bus.Message) ([]byte, bus.Header, error) {
	return func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
		var q request
		if err := json.Unmarshal(m.Data, &q); err != nil {
			return nil, nil, fault.Wrap(err, fault.BadRequest, "the command is not of the form that docs/bus.md describes")
		}
		record, err := w.Carry(ctx, Command{Type: typ, Verb: verb, Input: q.Input, Who: q.Who, ID: q.ID})
		if err != nil {
			return nil, nil, err
		}
		body, err := json.Marshal(reply{Record: record.Raw, Seq: record.Seq})
		return body, nil, err
	}
}

// Carry carries out one command and returns after the log has acknowledged it.
// Faults as Client.Submit.
func (w *Worker) Carry(ctx context.Context, cmd Command) (Record, error) {
	fresh := w.newID()
	id, err := Target(w.model, cmd, fresh)
	if err != nil {
		return Record{}, err
	}
	for range maxAttempts {
		record, err := w.attempt(ctx, cmd, id, fresh)
		if !errors.Is(err, bus.ErrConflict) && !errors.Is(err, bus.ErrUnknownOutcome) {
			return record, err
		}
		w.log.LogAttrs(ctx, slog.LevelDebug, "decide again", slog.String("resource", cmd.Type), slog.String("key", id))
	}
	return Record{}, fault.New(fault.Conflict, "%s %q is being changed by too many at once; try again", cmd.Type, id)
}

// attempt decides on what the log says now. The error is bus.ErrConflict when
// somebody wrote meanwhile, and bus.ErrUnknownOutcome when the log did not say
// whether it has stored the change: the next attempt finds out.
func (w *Worker) attempt(ctx context.Context, cmd Command, id, fresh string) (Record, error) {
	subject := w.bus.Subjects().Record(cmd.Type, id)
	last, err := w.bus.Last(ctx, subject)
	if err != nil {
		return Record{}, fmt.Errorf("read %s: %w", subject, err)
	}
	var current []byte
	var after uint64
	if last != nil {
		after = last.Seq
		if cmd.ID != "" && last.Header.Get(headerCommand) == cmd.ID {
			// An append whose answer was lost has happened after all.
			return Record{Raw: last.Data, Seq: last.Seq}, nil
		}
		if last.Header.Get(headerKind) != string(Deleted) {
			current = last.Data
		}
	}
	d, err := Decide(w.model, cmd, current, w.now(), fresh)
	if err != nil {
		return Record{}, err
	}
	entries, err := w.reservations(ctx, cmd.Type, d)
	if err != nil {
		return Record{}, err
	}
	entries = append(entries, bus.Entry{
		Subject: subject,
		Header:  bus.Header{headerKind: {string(d.Kind)}, headerActor: {cmd.Who.Subject}, headerCommand: {cmd.ID}},
		Data:    d.Raw,
		After:   after,
	})
	seq, err := w.bus.Append(ctx, entries...)
	if err != nil {
		return Record{}, err
	}
	return Record{Raw: d.Answer, Seq: seq}, nil
}

package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"tidings/bus"
	"tidings/schema"
)

// AdmitOptions says what Admit may do. The zero value looks and writes nothing.
type AdmitOptions struct {
	// Write is for processes with a worker: they reserve the values of fields
	// that became unique, and note in the log that the records were looked
	// through, so that others need not.
	Write bool
	// Flawed admits the schema although records do not fit it. Nothing is
	// noted then: the next start looks again.
	Flawed bool
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Admit says whether a service may start with a schema: an error lists the
// stored records that the schema would make invalid. Under a schema that the
// records were looked through with last, it reads one message. It is for before
// a worker and a feed of this process run. Any number of processes may do it at
// the same time; workers with another schema that still run may write what it
// has not seen.
func Admit(ctx context.Context, b *bus.Bus, m *schema.Model, o AdmitOptions) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := admission{bus: b, model: m, options: o, worker: NewWorker(b, m, WorkerOptions{})}
	if err := a.run(ctx); err != nil {
		return fmt.Errorf("admit the schema: %w", err)
	}
	return nil
}

// ErrFlawed says that stored records do not fit the schema.
var ErrFlawed = errors.New("the stored records do not fit the schema")

// admission is one run of Admit.
type admission struct {
	bus     *bus.Bus
	model   *schema.Model
	options AdmitOptions
	worker  *Worker // for its reading of reservations; it does not run
}

// note is the body of the message that says how the records were looked
// through last.
type note struct {
	Rules  string   `json:"rules"`  // digest of what the schema asks of records
	Unique []string `json:"unique"` // the fields whose values are all reserved, as Type.field
}

func (a *admission) run(ctx context.Context) error {
	_, last, err := a.bus.State(ctx)
	if err != nil {
		return err
	}
	known, after, err := a.note(ctx)
	if err != nil {
		return err
	}
	want := note{Rules: rulesOf(a.model), Unique: uniqueFields(a.model)}
	if known.Rules == want.Rules {
		return nil
	}
	fresh := func(field string) bool {
		return slices.Contains(want.Unique, field) && !slices.Contains(known.Unique, field)
	}
	flawed, err := a.inspect(ctx, last, fresh)
	if err != nil || !a.options.Write {
		return err
	}
	if slices.ContainsFunc(want.Unique, fresh) {
		if err := a.reserve(ctx, last, fresh); err != nil {
			return err
		}
	}
	if flawed {
		return nil
	}
	return a.write(ctx, want, after)
}

// note reads what was noted last, and its place in the log.
func (a *admission) note(ctx context.Context) (known note, seq uint64, err error) {
	m, err := a.bus.Last(ctx, a.bus.Subjects().Schema())
	if err != nil || m == nil {
		return note{}, 0, err
	}
	if json.Unmarshal(m.Data, &known) != nil {
		known = note{} // as if nobody had looked
	}
	return known, m.Seq, nil
}

// inspect looks through the records. flawed is true when some do not fit and
// the schema is admitted all the same.
func (a *admission) inspect(ctx context.Context, upto uint64, fresh func(string) bool) (flawed bool, err error) {
	found, err := inspect(ctx, a.bus, a.model, upto, fresh)
	if err != nil {
		return false, err
	}
	if found.Records > 0 {
		a.options.Logger.LogAttrs(ctx, slog.LevelInfo, "the schema is new to the log; looked through the stored records",
			slog.Int("records", found.Records), slog.Int("flawed", found.Flawed))
	}
	refusal := found.Err()
	if refusal == nil {
		return false, nil
	}
	if !a.options.Flawed {
		return false, refusal
	}
	a.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the service starts although stored records do not fit the schema", slog.Any("reason", refusal))
	return true, nil
}

// write notes that the records fit. Of several processes that do it at the same
// time one is enough.
func (a *admission) write(ctx context.Context, n note, after uint64) error {
	body, err := encodeValue(n)
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		_, err := a.bus.Append(ctx, bus.Entry{Subject: a.bus.Subjects().Schema(), Data: body, After: after})
		if err == nil || errors.Is(err, bus.ErrConflict) {
			return nil // a conflict: another process has noted what it found; the next start reads that
		}
		if !again(err) || attempt == maxAttempts || !pause(ctx, attempt) {
			return err
		}
	}
}

// uniqueFields lists the unique fields of a schema, ids left out: their
// uniqueness is that of the record's subject.
func uniqueFields(m *schema.Model) []string {
	list := []string{}
	for _, r := range m.Resources {
		for _, f := range r.Fields {
			if f.Unique && f.Name != "id" {
				list = append(list, r.Name+"."+f.Name)
			}
		}
	}
	return list
}

// uniquesOf returns the unique values that a stored record holds.
func uniquesOf(r *schema.Resource, raw []byte) []Unique {
	var record members
	if r == nil || json.Unmarshal(raw, &record) != nil {
		return nil
	}
	return uniques(r, record, nil)
}

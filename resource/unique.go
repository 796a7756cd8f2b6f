package resource

import (
	"context"
	"encoding/json"
	"fmt"

	"tidings/auth"
	"tidings/bus"
)

// A unique value is held by a message on a subject of its own, appended in one
// atomic batch with the record that holds it. Both carry the sequence that
// they expect, so of two writers who want one value only one batch is stored.

// holder is the body of a reservation; an empty ID means that the value is free.
type holder struct {
	ID string `json:"id,omitempty"`
}

// released is the body of the reservation of a value that is free.
const released = "{}"

// reservations returns the messages that take and release the decision's
// unique values. The fault is Conflict when another record holds one.
func (w *Worker) reservations(ctx context.Context, typ string, d Decision) ([]bus.Entry, error) {
	var entries []bus.Entry
	for _, u := range d.Take {
		e, held, err := w.reservation(ctx, typ, u)
		if err != nil {
			return nil, err
		}
		if held, err = w.holds(ctx, typ, held, u); err != nil {
			return nil, err
		}
		if held != "" && held != d.ID {
			return nil, w.confirmed(ctx, auth.Principal{}, e.Subject, e.After, heldByAnother(typ, u))
		}
		e.Data, _ = json.Marshal(holder{ID: d.ID}) // a string always encodes
		entries = append(entries, e)
	}
	for _, u := range d.Release {
		e, held, err := w.reservation(ctx, typ, u)
		if err != nil {
			return nil, err
		}
		if held != d.ID {
			continue // never taken: the field became unique after the record was written
		}
		e.Data = []byte(released)
		entries = append(entries, e)
	}
	return entries, nil
}

// holds returns the holder of a value if its record still has it, otherwise
// nobody: while a field was not @unique its reservations were not kept.
func (w *Worker) holds(ctx context.Context, typ, holder string, u Unique) (string, error) {
	if holder == "" {
		return "", nil
	}
	m, err := w.last(ctx, w.bus.Subjects().Record(typ, holder))
	if err != nil {
		return "", fmt.Errorf("read the holder of %s.%s: %w", typ, u.Field, err)
	}
	var record members
	if m == nil || m.Header.Get(headerKind) == string(Deleted) || json.Unmarshal(m.Data, &record) != nil {
		return "", nil
	}
	if isNull(record[u.Field]) || digest(record[u.Field]) != u.Hash {
		return "", nil
	}
	return holder, nil
}

// reservation reads who holds a value and returns the message that would
// change it.
func (w *Worker) reservation(ctx context.Context, typ string, u Unique) (bus.Entry, string, error) {
	e := bus.Entry{Subject: w.bus.Subjects().Unique(typ, u.Field, u.Hash)}
	last, err := w.bus.Last(ctx, e.Subject)
	if err != nil {
		return bus.Entry{}, "", fmt.Errorf("read %s: %w", e.Subject, err)
	}
	if last == nil {
		return e, "", nil
	}
	e.After = last.Seq
	h, ok := readHolder(*last)
	if !ok {
		h, err = w.lastHolder(ctx, *last)
	}
	return e, h.ID, err
}

package resource

import (
	"context"
	"encoding/json"
	"fmt"

	"tidings/auth"
	"tidings/bus"
)

// A unique value is held by a message on a subject of its own, appended in one
// atomic batch with the record that holds it, or before it (ahead.go). Both carry
// the sequence that they expect, so of two writers who want one value only one
// gets it.

// holder is the body of a reservation; an empty ID means that the value is free.
type holder struct {
	ID string `json:"id,omitempty"`
}

// released is the body of the reservation of a value that is free.
const released = "{}"

// heldBy is the body of the reservation of a value that a record holds.
func heldBy(id string) []byte {
	raw, _ := json.Marshal(holder{ID: id}) // a string always encodes
	return raw
}

// reservations returns the messages that take and release the decision's
// unique values. The fault is Conflict when another record holds one.
func (w *Worker) reservations(ctx context.Context, typ string, d Decision) ([]bus.Entry, error) {
	var entries []bus.Entry
	for _, u := range d.Take {
		e, held, err := w.reservation(ctx, typ, u)
		if err != nil {
			return nil, err
		}
		if held != d.ID {
			if held, err = w.keeper(ctx, typ, held, e.After, u); err != nil {
				return nil, err
			}
		}
		if held != "" && held != d.ID {
			return nil, w.confirmed(ctx, auth.Principal{}, e.Subject, e.After, heldByAnother(typ, u))
		}
		e.Data = heldBy(d.ID)
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
	m, err := w.holder(ctx, typ, holder, u)
	if err != nil || !has(m, u) {
		return "", err
	}
	return holder, nil
}

// holder reads the newest message of a value's holder.
func (w *Worker) holder(ctx context.Context, typ, id string, u Unique) (*bus.Message, error) {
	m, err := w.last(ctx, w.bus.Subjects().Record(typ, id))
	if err != nil {
		return nil, fmt.Errorf("read the holder of %s.%s: %w", typ, u.Field, err)
	}
	return m, nil
}

// has reports whether the record in its newest message has a value.
func has(m *bus.Message, u Unique) bool {
	current, _ := standing(m)
	var record members
	if current == nil || json.Unmarshal(current, &record) != nil {
		return false
	}
	return !isNull(record[u.Field]) && digest(record[u.Field]) == u.Hash
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

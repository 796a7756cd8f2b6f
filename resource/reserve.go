package resource

import (
	"context"
	"fmt"
	"log/slog"

	"tidings/bus"
)

// A field that becomes unique has values that nobody reserved. They are
// reserved before a worker that knows of it runs: in batches where no
// reservation is there yet, and one by one where some are, because another
// worker does the same or the field was unique before.

const (
	// maxClaims is how many values are reserved by one append.
	maxClaims = 200
	// maxAttempts bounds how often one value is tried.
	maxAttempts = 10
)

// claim is a value that a record has.
type claim struct {
	typ, id string
	Unique
}

// reserve makes the reservations of the given fields for the records up to a
// position. The error names a record whose value another one holds.
func (a *admission) reserve(ctx context.Context, upto uint64, fresh func(field string) bool) error {
	var claims []claim
	seen := map[string]bool{} // a batch holds a subject once
	count := 0
	flush := func() error {
		err := a.claimAll(ctx, claims)
		count += len(claims)
		claims = claims[:0]
		clear(seen)
		return err
	}
	err := eachRecord(ctx, a.bus, upto, func(typ, id string, raw []byte) error {
		for _, u := range uniquesOf(a.model.Resource(typ), raw) {
			if !fresh(typ + "." + u.Field) {
				continue
			}
			subject := a.bus.Subjects().Unique(typ, u.Field, u.Hash)
			if len(claims) == maxClaims || seen[subject] {
				if err := flush(); err != nil {
					return err
				}
			}
			seen[subject] = true
			claims = append(claims, claim{typ, id, u})
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return fmt.Errorf("reserve unique values: %w", err)
	}
	if count > 0 {
		a.options.Logger.LogAttrs(ctx, slog.LevelInfo, "reserved the values of fields that became unique", slog.Int("values", count))
	}
	return nil
}

func (a *admission) claimAll(ctx context.Context, claims []claim) error {
	if len(claims) == 0 {
		return nil
	}
	entries := make([]bus.Entry, len(claims))
	for i, c := range claims {
		entries[i] = bus.Entry{Subject: a.bus.Subjects().Unique(c.typ, c.Field, c.Hash), Data: heldBy(c.id)}
	}
	_, err := a.bus.Append(ctx, entries...)
	if err == nil || !again(err) {
		return err
	}
	for _, c := range claims {
		if err := a.claim(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// claim reserves one value, whoever else does it at the same time.
func (a *admission) claim(ctx context.Context, c claim) error {
	for attempt := 0; ; attempt++ {
		err := a.try(ctx, c)
		if err == nil || !again(err) || attempt == maxAttempts || !pause(ctx, attempt) {
			return err
		}
	}
}

func (a *admission) try(ctx context.Context, c claim) error {
	e, held, err := a.worker.reservation(ctx, c.typ, c.Unique)
	if err != nil || held == c.id {
		return err
	}
	if held, err = a.worker.keeper(ctx, c.typ, held, e.After, c.Unique); err != nil {
		return err
	}
	if held == "" {
		e.Data = heldBy(c.id)
		_, err = a.bus.Append(ctx, e)
		return err
	}
	mine, err := a.worker.holds(ctx, c.typ, c.id, c.Unique)
	if err != nil || mine == "" || a.options.Flawed { // "": the record went on
		return err
	}
	return fmt.Errorf("%w: %s.%s is unique, and %q and %q have the same value", ErrFlawed, c.typ, c.Field, held, c.id)
}

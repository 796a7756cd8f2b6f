package resource

import (
	"context"

	"golang.org/x/sync/errgroup"

	"tidings/bus"
	"tidings/fault"
)

// Unique values inside a transaction: each has one message in the batch at most,
// whoever takes it and whoever gives it back. One that is given back may be taken
// in the same breath; of two that take one value the later one is to blame.

// seat is a unique value that a transaction touches.
type seat struct {
	typ string
	Unique
	taker  int   // the change that takes it, -1 for none
	givers []int // those that give it back
}

// seats collects what the decisions take and give back, in their order.
func (b *bundle) seats(decisions []Decision) ([]*seat, error) {
	var list []*seat
	by := map[seatKey]*seat{}
	at := func(typ string, u Unique) *seat {
		s := by[seatKey{typ, u}]
		if s == nil {
			s = &seat{typ: typ, Unique: u, taker: -1}
			by[seatKey{typ, u}] = s
			list = append(list, s)
		}
		return s
	}
	for i, d := range decisions {
		typ := b.parts[i].cmd.Type
		for _, u := range d.Take {
			s := at(typ, u)
			if s.taker >= 0 {
				return nil, &ItemError{Index: i, Cause: &fault.Error{Code: fault.Conflict, Field: "input." + u.Field,
					Message: "another " + typ + " of the transaction takes this " + u.Field}}
			}
			s.taker = i
		}
		for _, u := range d.Release {
			s := at(typ, u)
			s.givers = append(s.givers, i)
		}
	}
	return list, nil
}

type seatKey struct {
	typ string
	Unique
}

// reservations returns the messages that take and release the decisions' unique
// values. The fault is Conflict when a record that keeps a value holds it.
func (b *bundle) reservations(ctx context.Context, decisions []Decision) ([]bus.Entry, error) {
	seats, err := b.seats(decisions)
	if err != nil {
		return nil, err
	}
	entries, errs := make([]bus.Entry, len(seats)), make([]error, len(seats))
	var g errgroup.Group
	g.SetLimit(readsAtOnce)
	for i, s := range seats {
		g.Go(func() error {
			entries[i], errs[i] = b.reserve(ctx, s, decisions)
			return nil
		})
	}
	_ = g.Wait() // each has its own error, and the first change's counts
	some := entries[:0]
	for i, e := range entries {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if e.Subject != "" {
			some = append(some, e)
		}
	}
	return some, nil
}

// reserve returns the message of one value; none when it was never reserved and
// nobody takes it.
func (b *bundle) reserve(ctx context.Context, s *seat, decisions []Decision) (bus.Entry, error) {
	e, held, err := b.w.reservation(ctx, s.typ, s.Unique)
	if err != nil {
		return bus.Entry{}, err
	}
	freed := false
	for _, giver := range s.givers {
		freed = freed || held == decisions[giver].ID
	}
	if s.taker < 0 {
		if !freed {
			return bus.Entry{}, nil
		}
		e.Data = []byte(released)
		return e, nil
	}
	taker := decisions[s.taker]
	if !freed && held != taker.ID {
		if held, err = b.w.keeper(ctx, s.typ, held, e.After, s.Unique); err != nil {
			return bus.Entry{}, err
		}
		if held != "" {
			return bus.Entry{}, &ItemError{Index: s.taker, Cause: b.w.confirmed(ctx, b.tx.Who, e.Subject, e.After, heldByAnother(s.typ, s.Unique))}
		}
	}
	e.Data = heldBy(taker.ID)
	return e, nil
}

func heldByAnother(typ string, u Unique) error {
	return &fault.Error{Code: fault.Conflict, Field: "input." + u.Field, Message: "another " + typ + " has this " + u.Field}
}

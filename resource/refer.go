package resource

import (
	"context"
	"errors"
	"strconv"

	"golang.org/x/sync/errgroup"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// A reference with a rule (@belongsTo(onDelete:)) leads to a record that is
// there, whoever writes at the same time. Two kinds of messages see to that, both
// on a subject beside the one to which the reference leads:
//
// Whoever makes a reference appends one that expects that record as it was read.
// It asks nothing of its own subject, so that those who refer to the same record
// do not take turns.
//
// Whoever deletes the record appends one that expects the last message there as
// it was before the references were looked for. A reference that was made
// meanwhile has moved it, and the deletion is decided again.

const (
	// referredTo and leftAlone are the bodies of these messages.
	referredTo = "{}"
	leftAlone  = `{"deleted":true}`
)

// refers reports whether references have a part in a command.
func (a asked) refers() bool {
	switch a.Verb {
	case Create:
		return len(a.r.References) > 0
	case Update:
		for _, ref := range a.r.References {
			if !isNull(a.input[ref.Key.Name]) {
				return true
			}
		}
	case Delete:
		return ruled(a.r)
	}
	return false
}

// ruled reports whether something becomes of those that refer to a record of r
// when it is deleted.
func ruled(r *schema.Resource) bool {
	for _, ref := range r.Referrers {
		if ref.OnDelete != schema.Keep {
			return true
		}
	}
	return false
}

// standing takes a record's newest message for what it is: the record, or the
// tombstone of one that was deleted. Both are nil when there is none.
func standing(last *bus.Message) (current, tombstone []byte) {
	switch {
	case last == nil:
		return nil, nil
	case last.Header.Get(headerKind) == string(Deleted):
		return nil, last.Data
	}
	return last.Data, nil
}

// carryAlone carries out a command in which references have a part, as a
// transaction of one change.
func (w *Worker) carryAlone(ctx context.Context, a asked, fresh, id string) (Record, error) {
	b := &bundle{w: w, alone: true, asked: 1, parts: []part{w.partOf(a, fresh, id)},
		tx: Transaction{Who: a.Who, ID: a.ID, Once: a.Once}}
	records, err := b.carry(ctx)
	if item, ok := errors.AsType[*ItemError](err); ok {
		return Record{}, item.Cause
	}
	if err != nil {
		return Record{}, err
	}
	return records[0], nil
}

// target is a record to which new references lead.
type target struct {
	ref  *schema.Reference
	id   string
	part int // the first that refers to it
	// planned: the transaction itself creates or changes the record, and so what
	// is expected of that is said already.
	planned bool
	last    *bus.Message // of the record; where it is planned, of the subject beside it
}

// references checks what the changes begin to refer to, and guards it. What the
// transaction itself creates is there, what it deletes is not.
func (c *closure) references(ctx context.Context) error {
	var targets []*target
	for i := range c.parts[:c.asked] {
		for _, ref := range c.parts[i].cmd.r.References {
			id := c.begins(i, ref)
			if id == "" {
				continue
			}
			if len(id) > maxID {
				return missing(i, ref, id)
			}
			place, planned := c.at[c.w.bus.Subjects().Record(ref.To.Name, id)]
			subject := c.w.bus.Subjects().Reference(ref.To.Name, id)
			switch {
			case planned && c.decisions[place].Kind == Deleted:
				return c.certain(ctx, missing(i, ref, id), nil, c.parts[place].newest())
			case !c.guarded[subject]:
				c.guarded[subject] = true
				targets = append(targets, &target{ref: ref, id: id, part: i, planned: planned})
			}
		}
	}
	if err := c.look(ctx, targets); err != nil {
		return err
	}
	for _, t := range targets {
		s := c.w.bus.Subjects()
		e := bus.Entry{Subject: s.Reference(t.ref.To.Name, t.id), Data: []byte(referredTo)}
		if current, _ := standing(t.last); !t.planned {
			e.Of = s.Record(t.ref.To.Name, t.id)
			if current == nil {
				none := part{subject: e.Of, last: t.last}
				return c.certain(ctx, missing(t.part, t.ref, t.id), nil, none.newest())
			}
		}
		if t.last != nil {
			e.After = t.last.Seq
		}
		c.guards = append(c.guards, e)
	}
	return nil
}

// begins returns the id that a change makes a record refer to; empty when it
// referred to it before, or does not.
func (c *closure) begins(i int, ref *schema.Reference) string {
	d := c.decisions[i]
	if d.Kind == Deleted {
		return ""
	}
	id := rawjson.String(d.Raw, ref.Key.Name)
	if d.Kind == Updated && rawjson.String(c.parts[i].last.Data, ref.Key.Name) == id {
		return ""
	}
	return id
}

// look reads what the targets expect.
func (c *closure) look(ctx context.Context, targets []*target) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for _, t := range targets {
		g.Go(func() (err error) {
			if t.planned {
				t.last, err = c.w.bus.Last(ctx, c.w.bus.Subjects().Reference(t.ref.To.Name, t.id))
				return err
			}
			t.last, err = c.w.last(ctx, c.w.bus.Subjects().Record(t.ref.To.Name, t.id))
			return err
		})
	}
	return g.Wait()
}

// missing says that there is no record to refer to.
func missing(part int, ref *schema.Reference, id string) error {
	if len(id) > 60 {
		id = id[:60] + "…"
	}
	return &ItemError{Index: part, Cause: fault.Input("input."+ref.Key.Name, "%s refers to no %s: there is none with the id %s", ref.Key.Name, ref.To.Name, strconv.Quote(id))}
}

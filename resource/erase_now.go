package resource

import (
	"context"
	"encoding/json"
	"fmt"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/schema"
)

// Erased is what EraseNow has removed.
type Erased struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	// Deleted: the record lived and was deleted by this.
	Deleted bool `json:"deleted"`
	// Changes and Values are how many messages of the record's history, and of its
	// unique values, were removed from the log.
	Changes int `json:"changes"`
	Values  int `json:"values"`
	// Seq is where the tombstone stands that is left.
	Seq uint64 `json:"seq"`
}

// EraseNow removes from the log what a record was, at once: an operator asks for
// it. One that lives is deleted first, by the rules of references and whoever may
// delete it; what is deleted with it is erased in its time. It may be repeated.
// Faults: NotFound when the log holds nothing of the record, those of a deletion,
// Unavailable, and bus.ErrPurgeDenied.
func (w *Worker) EraseNow(ctx context.Context, typ, id string) (Erased, error) {
	r := w.model.Resource(typ)
	if r == nil {
		return Erased{}, noResource(typ)
	}
	done := Erased{Type: typ, ID: id}
	subject := w.bus.Subjects().Record(typ, id)
	last, err := w.last(ctx, subject)
	if err != nil {
		return done, err
	}
	if last == nil || len(id) > maxID {
		return done, fault.New(fault.NotFound, "the log holds nothing of a %s %q", typ, id)
	}
	if current, _ := standing(last); current != nil {
		deleted, err := w.Carry(ctx, Command{Type: typ, Verb: Delete, Input: members{"id": quoted(id)}.raw(), Who: operator(r, current), ID: w.newID()})
		if err != nil {
			return done, err
		}
		done.Deleted, done.Seq = true, deleted.Seq
	} else {
		done.Seq = last.Seq
	}
	values, err := w.valuesOf(ctx, r, subject, done.Seq) // those that came until the deletion
	if err != nil {
		return done, err
	}
	if done.Changes, err = w.bus.Purge(ctx, subject, done.Seq); err != nil {
		return done, err
	}
	for u := range values {
		n, err := w.forgetValue(ctx, typ, u)
		if err != nil {
			return done, err
		}
		done.Values += n
	}
	return done, nil
}

// operator is a caller who may delete a record, whoever owns it.
func operator(r *schema.Resource, current []byte) auth.Principal {
	who := auth.Principal{Subject: "operator", Roles: schema.User | schema.Admin | schema.Service}
	if owner := Owner(r, current); !who.May(r.Auth[schema.Delete], owner) {
		who.Subject = owner
	}
	return who
}

// valuesOf returns the unique values that a record has had, as far as the log
// keeps it.
func (w *Worker) valuesOf(ctx context.Context, r *schema.Resource, subject string, upto uint64) (map[Unique]struct{}, error) {
	values := map[Unique]struct{}{}
	_, err := w.bus.Read(ctx, subject, 0, upto, func(m bus.Message) error {
		for _, u := range uniquesOf(r, m.Data) {
			values[u] = struct{}{}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what %s was: %w", subject, err)
	}
	return values, nil
}

// forgetValue purges a reservation that nobody holds.
func (w *Worker) forgetValue(ctx context.Context, typ string, u Unique) (int, error) {
	subject := w.bus.Subjects().Unique(typ, u.Field, u.Hash)
	m, err := w.bus.Last(ctx, subject)
	if err != nil || m == nil || string(m.Data) != released {
		return 0, err
	}
	return w.bus.Purge(ctx, subject, m.Seq+1)
}

func (m members) raw() json.RawMessage {
	raw, _ := json.Marshal(m) // its members are JSON
	return raw
}

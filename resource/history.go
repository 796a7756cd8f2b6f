package resource

import (
	"context"
	"errors"
	"fmt"

	"tidings/bus"
)

// History is a part of what the log keeps of one record.
type History struct {
	Changes []PastChange // oldest first
	// More: there are changes after these.
	More bool
	// Complete: the log keeps the record's changes from the first on; otherwise
	// the oldest were trimmed or erased. Of a record that never was it has all.
	Complete bool
}

// PastChange is one change of a record's history.
type PastChange struct {
	Event
	Actor   string // the subject of who made it; empty: anonymous
	Command string // its id
}

// History reads the changes of one record after a position from the log, at most
// limit. It asks neither the view nor who may know. Messages that are no records
// are left out. The fault is Unavailable when the log cannot be read.
func (f *Feed) History(ctx context.Context, typ, id string, after uint64, limit int) (h History, err error) {
	if len(id) > maxID {
		return History{Complete: true}, nil
	}
	subject := f.bus.Subjects().Record(typ, id)
	last, err := f.bus.Last(ctx, subject)
	if err != nil {
		return History{}, fmt.Errorf("history of %s: %w", subject, err)
	}
	if last == nil {
		return History{Complete: true}, nil
	}
	oldest := true
	_, err = f.bus.Read(ctx, subject, 0, last.Seq, func(m bus.Message) error {
		if oldest {
			oldest, h.Complete = false, m.Prev == 0
		}
		if m.Seq <= after {
			return nil
		}
		if len(h.Changes) == limit {
			h.More = true
			return errFull
		}
		if e, ok := f.event(m); ok {
			h.Changes = append(h.Changes, PastChange{Event: e, Actor: m.Header.Get(headerActor), Command: m.Header.Get(headerCommand)})
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return History{}, fmt.Errorf("history of %s: %w", subject, err)
	}
	return h, nil
}

var errFull = errors.New("the page is full")

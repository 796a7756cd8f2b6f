package resource

import (
	"context"
	"errors"
	"fmt"

	"tidings/bus"
)

// complete fills in the record before the event, where the sight needs it.
func (p *Past) complete(ctx context.Context, m bus.Message, e *Event) (err error) {
	if p.sight != nil && p.sight.Needs(*e) {
		e.Before, err = p.before(ctx, m)
	}
	return err
}

// remember keeps the record after the event, for the next that changes it.
func (p *Past) remember(m bus.Message, e *Event) {
	switch {
	case p.sight == nil:
	case e.Kind == Deleted:
		p.states.keep(m.Subject, m.Seq, nil)
	default:
		p.states.keep(m.Subject, m.Seq, e.Raw)
	}
}

// before returns the record as the message before m of its subject left it: as
// it was read a moment ago, or from the log.
func (p *Past) before(ctx context.Context, m bus.Message) ([]byte, error) {
	if m.Prev == 0 {
		return nil, nil
	}
	if raw, known := p.states.at(m.Subject, m.Prev); known {
		return raw, nil
	}
	raw, err := p.feed.recordAt(ctx, m.Subject, m.Prev)
	if err != nil && !errors.Is(err, errGone) {
		return nil, fmt.Errorf("what message %d changed: %w", m.Seq, err)
	}
	return raw, err
}

// maxStates bounds the records that a replay remembers, in bytes.
const maxStates = 4 << 20

// states are the records that a replay has come across lately. The zero value
// is empty.
type states struct {
	last  map[string]state
	bytes int
}

type state struct {
	seq uint64
	raw []byte // nil: deleted
}

func (s *states) keep(subject string, seq uint64, raw []byte) {
	if s.last == nil || s.bytes > maxStates {
		s.last, s.bytes = map[string]state{}, 0 // what is not remembered is read again
	}
	if old, known := s.last[subject]; known {
		s.bytes -= len(subject) + len(old.raw)
	}
	s.bytes += len(subject) + len(raw)
	s.last[subject] = state{seq, raw}
}

func (s *states) at(subject string, seq uint64) (raw []byte, known bool) {
	last, known := s.last[subject]
	return last.raw, known && last.seq == seq
}

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tidings/bus"
)

// Resume finishes an export that was cut off: it copies the whole lines of what
// there is and writes the rest, as of the same position. Types and After must be
// those with which it began. The longer ago that was, the more records the log
// may no longer keep as they were then (Trailer.Newer). Where all is there it is
// ErrFinished, and the report is that of what there is.
func Resume(ctx context.Context, b *bus.Bus, old io.Reader, to io.Writer, o Options) (Report, error) {
	l, err := newLines(old)
	if err != nil {
		return Report{}, fmt.Errorf("resume: %w", err)
	}
	raw, err := l.next()
	if err != nil {
		return Report{}, fmt.Errorf("%w: there is not even a first line; begin a new export", ErrFile)
	}
	first, err := parseLine(raw)
	if err != nil || first.header == nil {
		return Report{}, fmt.Errorf("%w: its first line is not that of an export; begin a new one", ErrFile)
	}
	_, last, err := b.State(ctx)
	if err != nil {
		return Report{}, err
	}
	h := *first.header
	after := ""
	if o.After != nil {
		after = o.After.String()
	}
	switch {
	case h.Log != b.LogID() || h.Seq > last:
		return Report{}, fmt.Errorf("the export was begun of another log (%s, this one is %s): begin a new one", h.Log, b.LogID())
	case !slices.Equal(h.Types, o.Types) || h.After != after:
		return Report{}, errors.New("the export was begun with other types or another --after; give the same, or begin a new one")
	}
	e := newExport(b, to, h, o)
	if err := e.write(h); err != nil {
		return Report{}, err
	}
	if err := e.copy(l, last); err != nil {
		return Report{Header: h, Trailer: e.trailer}, err
	}
	if o.Resumed != nil {
		if err := o.Resumed(); err != nil {
			return Report{}, err
		}
	}
	return e.run(ctx)
}

// ErrFinished says that the export to be resumed has all its lines.
var ErrFinished = errors.New("the export is finished")

// copy takes over the whole lines that there are.
func (e *export) copy(l *lines, last uint64) error {
	for {
		raw, err := l.next()
		if err == io.EOF || errors.Is(err, errCut) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := parseLine(raw)
		switch {
		case err != nil:
			return fmt.Errorf("%w: line %d %w; begin a new export", ErrFile, l.number, err)
		case p.trailer != nil:
			e.trailer = *p.trailer
			return ErrFinished
		case p.line == nil || p.line.Seq == 0 || p.line.Seq > last:
			return fmt.Errorf("%w: line %d is not of an export of this log; begin a new one", ErrFile, l.number)
		}
		if err := e.write(p.line); err != nil {
			return err
		}
		e.count(p.line.Seq, p.line.Type, p.line.Deleted)
	}
}

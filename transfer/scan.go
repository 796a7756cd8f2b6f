package transfer

import (
	"errors"
	"fmt"
	"io"
)

// Summary is what a file says of itself.
type Summary struct {
	Header  *Header  // nil: another system wrote it
	Trailer *Trailer // nil: it has no header either, or was cut off
	Records int
	Deleted int
	Bytes   int64 // of the records
}

// scan hands fn every record's line of a file with its number, and fills s on the
// way. An error names the line. A file with a header and without its trailer is
// errNoEnd, after all its lines.
func (s *Summary) scan(in io.Reader, fn func(number int, l Line) error) error {
	l, err := newLines(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	for {
		raw, err := l.next()
		cut := errors.Is(err, errCut)
		switch {
		case err == io.EOF && s.Header != nil && s.Trailer == nil:
			return errNoEnd
		case err == io.EOF:
			return nil
		case err != nil && !cut, cut && s.Header != nil:
			return err
		case len(raw) == 0:
			continue
		}
		if err := s.take(l, raw, fn); err != nil {
			return err
		}
	}
}

var errNoEnd = fmt.Errorf("%w: it has no last line, so it was cut off: finish it with `api export --resume`, or export again", ErrFile)

func (s *Summary) take(l *lines, raw []byte, fn func(int, Line) error) error {
	wrong := func(format string, a ...any) error {
		return fmt.Errorf("%w: line %d %s", ErrFile, l.number, fmt.Sprintf(format, a...))
	}
	p, err := parseLine(raw)
	switch {
	case err != nil:
		return wrong("%s", err)
	case s.Trailer != nil:
		return wrong("follows the last line of the export; files are imported one by one")
	case p.header != nil && l.number > 1:
		return wrong("is the first line of an export; files are imported one by one")
	case p.header != nil:
		s.Header = p.header
		return nil
	case p.trailer != nil && s.Header == nil:
		return wrong("is the last line of an export whose first is missing")
	case p.trailer != nil:
		s.Trailer = p.trailer
		return s.verify(l, wrong)
	}
	s.Bytes += int64(len(p.line.Record))
	if p.line.Deleted {
		s.Deleted++
	} else {
		s.Records++
	}
	return fn(l.number, *p.line)
}

// verify holds the trailer against what was read.
func (s *Summary) verify(l *lines, wrong func(string, ...any) error) error {
	t := s.Trailer
	switch {
	case t.Records != s.Records || t.Deleted != s.Deleted:
		return wrong("counts %d records and %d deleted ones, and there are %d and %d: lines were lost or added; export again", t.Records, t.Deleted, s.Records, s.Deleted)
	case t.SHA256 != l.digest():
		return wrong("has another checksum than the lines before it: the file was changed or damaged; export again, or take its first and last line away to import it as it is")
	}
	return nil
}

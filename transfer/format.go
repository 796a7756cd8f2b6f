// Package transfer moves records between the log and files: Export writes what
// the log says at one position, Import writes records of a file into a log. The
// files are lines of JSON (docs/operations.md, Export and import).
//
// It decides nothing about records: what fits and how it is written is the room
// resource's.
package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Format is the first member of a file's first line.
const Format = "tidings-export/1"

// Header is the first line of an export.
type Header struct {
	Format string `json:"format"`
	// Log and Position say what the file shows: all that the log said at Position.
	Log      string `json:"log"`
	Position string `json:"position"`
	Seq      uint64 `json:"seq"`
	// After is the position that an incremental export begins after; empty: it is
	// a full one.
	After    string `json:"after,omitempty"`
	AfterSeq uint64 `json:"afterSeq,omitempty"`
	// Schema is the fingerprint of the schema that the service had.
	Schema string    `json:"schema,omitempty"`
	Prefix string    `json:"prefix"`
	Types  []string  `json:"types,omitempty"` // empty: all
	Time   time.Time `json:"time"`
}

// Line is one record.
type Line struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Seq     uint64          `json:"seq,omitempty"`
	Time    *time.Time      `json:"time,omitempty"`
	Deleted bool            `json:"deleted,omitempty"`
	Record  json.RawMessage `json:"record,omitempty"`
}

// Trailer is the last line of an export: a file without it was cut off.
type Trailer struct {
	End     bool           `json:"end"`
	Records int            `json:"records"`
	Deleted int            `json:"deletions"`
	Types   map[string]int `json:"types"`
	// Newer is how many records are there as they were after Position, since the
	// log did not keep what they were at it.
	Newer int `json:"newer,omitempty"`
	// Malformed is how many messages of the log were no records.
	Malformed int `json:"malformed,omitempty"`
	// SHA256 is that of all bytes before this line, in hex.
	SHA256 string `json:"sha256"`
}

// parsed is one line of a file: one of the three.
type parsed struct {
	header  *Header
	line    *Line
	trailer *Trailer
}

// ErrFile wraps what is wrong with a file.
var ErrFile = errors.New("not a file that can be imported")

// parseLine reads a line, without its end. Members that nobody knows are errors
// in a record's line: they would be lost.
func parseLine(raw []byte) (parsed, error) {
	var kind struct {
		Format *string `json:"format"`
		End    *bool   `json:"end"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return parsed{}, fmt.Errorf("is not a JSON object: %w", syntax(err))
	}
	switch {
	case kind.Format != nil:
		h, err := strict[Header](raw, false)
		if err == nil && h.Format != Format {
			err = fmt.Errorf("is of the format %.50q; this program reads %s", h.Format, Format)
		}
		return parsed{header: h}, err
	case kind.End != nil:
		t, err := strict[Trailer](raw, false)
		return parsed{trailer: t}, err
	}
	l, err := strict[Line](raw, true)
	if err != nil {
		return parsed{}, err
	}
	return parsed{line: l}, l.check()
}

func strict[T any](raw []byte, known bool) (*T, error) {
	v := new(T)
	dec := json.NewDecoder(bytes.NewReader(raw))
	if known {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", syntax(err))
	}
	return v, nil
}

// syntax is an error of encoding/json without the data that it may quote.
func syntax(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%q has a value of the wrong type (%s)", e.Field, e.Value)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it breaks off or is no JSON at byte %d", e.Offset)
	}
	return err
}

// check completes a line that another system wrote: the id may stand in the
// record alone.
func (l *Line) check() error {
	var record struct {
		ID *string `json:"id"`
	}
	if len(l.Record) > 0 && string(l.Record) != "null" {
		if err := json.Unmarshal(l.Record, &record); err != nil {
			return fmt.Errorf("the record cannot be read: %w", syntax(err))
		}
	} else if !l.Deleted {
		return errors.New(`has no "record"; a line is {"type":"User","record":{"id":"…", …}}`)
	}
	switch {
	case l.Type == "":
		return errors.New(`has no "type"; a line is {"type":"User","record":{"id":"…", …}}`)
	case record.ID == nil && l.ID == "":
		return errors.New(`has no id; it stands in the record as "id"`)
	case record.ID == nil:
	case l.ID == "":
		l.ID = *record.ID
	case l.ID != *record.ID:
		return errors.New(`names another id than its record`)
	}
	return nil
}

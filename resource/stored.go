package resource

import (
	"bytes"
	"context"
	"strings"

	"tidings/bus"
	"tidings/internal/rawjson"
)

// Malformed says why a message of the log is no record. It is an error, and one
// of a closed set of words for those who count.
type Malformed string

// What a message of the log may lack to be a record's.
const (
	// MalformedSubject: the subject names neither a record nor what else the
	// service keeps in its log.
	MalformedSubject Malformed = "subject"
	// MalformedKind: the header Tidings-Kind is absent, or not one of the three.
	MalformedKind Malformed = "kind"
	// MalformedJSON: the body is not a JSON object.
	MalformedJSON Malformed = "json"
	// MalformedID: the body's id is not the subject's.
	MalformedID Malformed = "id"
)

// Error tells what is wrong, without anything of the message's data.
func (m Malformed) Error() string {
	switch m {
	case MalformedSubject:
		return "its subject names no record"
	case MalformedKind:
		return "its header " + headerKind + " is none of CREATED, UPDATED, DELETED"
	case MalformedJSON:
		return "its body is no JSON object"
	case MalformedID:
		return "the id in its body is not that of its subject"
	}
	return "its body does not say who holds the value"
}

// ReadEvent reads a message of the log as the change of a record, of whatever
// type: which ones a schema has is not asked. The record is as it is stored,
// without defaults of fields that are younger. The error is a Malformed; nil and
// ok false: it is something else that the service keeps in its log.
func ReadEvent(s bus.Subjects, m bus.Message) (e Event, ok bool, err error) {
	typ, id, isRecord := s.ParseRecord(m.Subject)
	if !isRecord {
		if strings.HasPrefix(m.Subject, s.Prefix+".log._") { // maybe of a later version of the service
			return Event{}, false, nil
		}
		return Event{}, false, MalformedSubject
	}
	e = Event{Seq: m.Seq, Kind: Kind(m.Header.Get(headerKind)), Type: typ, ID: id, Raw: m.Data, Time: m.Time, Prev: m.Prev}
	if bad := e.flaw(); bad != "" {
		return Event{}, false, bad
	}
	return e, true, nil
}

// isNote reports whether the subject is one that the service keeps beside its
// records.
func isNote(s bus.Subjects, subject string) bool {
	_, _, _, isUnique := s.ParseUnique(subject)
	return isUnique || subject == s.Schema() || subject == s.Checked() || s.IsReference(subject)
}

// flaw says why the event is none; empty when it is one.
func (e Event) flaw() Malformed {
	switch {
	case e.Kind != Created && e.Kind != Updated && e.Kind != Deleted:
		return MalformedKind
	case !isObject(e.Raw):
		return MalformedJSON
	case rawjson.String(e.Raw, "id") != e.ID:
		return MalformedID
	}
	return ""
}

func isObject(raw []byte) bool {
	return rawjson.Valid(raw) && bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

// NewestEvent returns the newest change of a record that the log keeps of those
// up to a position, passing over messages that are none; ok is false when there
// is none. It reads the whole history that is kept: it is for records whose last
// message is malformed.
func NewestEvent(ctx context.Context, b *bus.Bus, subject string, upto uint64) (newest Event, ok bool, err error) {
	_, err = b.Read(ctx, subject, 0, upto, func(m bus.Message) error {
		if e, good, _ := ReadEvent(b.Subjects(), m); good {
			newest, ok = e, true
		}
		return nil
	})
	return newest, ok, err
}

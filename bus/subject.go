package bus

import (
	"encoding/base64"
	"strings"

	"tidings/fault"
)

// Subjects builds and reads every subject of the service. The zero value is
// not usable: its Prefix is a single token, "tidings" by default.
type Subjects struct {
	Prefix string
	// Inbox is Options.Inbox: what the subjects of answers begin with. Empty: the
	// library's own choice.
	Inbox string
}

// Log is the filter of everything that the stream stores.
func (s Subjects) Log() string { return s.Prefix + ".log.>" }

// maxSubject bounds a subject in bytes. A server cuts the connection of a
// client that sends a longer control line than it takes (4,096 bytes), and the
// connection is shared by everybody.
const maxSubject = 1024

func checkSubject(subject string) error {
	if len(subject) > maxSubject {
		return fault.New(fault.BadUserInput, "the id is too long")
	}
	return nil
}

// Record is the log subject of one record. An id that is not of the letters
// [A-Za-z0-9_-] is encoded: "=" and its base64url form without padding.
func (s Subjects) Record(typ, id string) string {
	return s.Prefix + ".log." + typ + "." + token(id)
}

// Records is the filter of all records of a type.
func (s Subjects) Records(typ string) string { return s.Prefix + ".log." + typ + ".*" }

// Unique is the log subject that reserves one value of a unique field; hash is
// the value's digest in letters that need no encoding.
func (s Subjects) Unique(typ, field, hash string) string {
	return s.Prefix + ".log._unique." + typ + "." + field + "." + hash
}

// Uniques is what the subjects of all reservations begin with.
func (s Subjects) Uniques() string { return s.Prefix + ".log._unique." }

// Reference is the log subject that is written to by whoever makes a record
// refer to the given one, and by whoever deletes that one.
func (s Subjects) Reference(typ, id string) string { return s.References() + typ + "." + token(id) }

// References is what all of these begin with.
func (s Subjects) References() string { return s.Prefix + ".log._ref." }

// IsReference reports whether a subject is one of Reference.
func (s Subjects) IsReference(subject string) bool {
	rest, ok := strings.CutPrefix(subject, s.References())
	typ, tok, two := strings.Cut(rest, ".")
	_, valid := untoken(tok)
	return ok && two && plain(typ) && valid
}

// ParseRecord takes a record's log subject apart. It reports false for every
// other subject, reservations included.
func (s Subjects) ParseRecord(subject string) (typ, id string, ok bool) {
	rest, ok := strings.CutPrefix(subject, s.Prefix+".log.")
	if !ok {
		return "", "", false
	}
	typ, tok, ok := strings.Cut(rest, ".")
	if !ok || typ == "_unique" || !plain(typ) {
		return "", "", false
	}
	id, ok = untoken(tok)
	return typ, id, ok
}

// ParseUnique takes the log subject of a reservation apart. It reports false for
// every other subject.
func (s Subjects) ParseUnique(subject string) (typ, field, hash string, ok bool) {
	rest, ok := strings.CutPrefix(subject, s.Prefix+".log._unique.")
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 || !plain(parts[0]) || !plain(parts[1]) || !plain(parts[2]) {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// Live is where the stream republishes what it stored.
func (s Subjects) Live() string { return s.Prefix + ".live.>" }

// told is where the stream republishes what it stored on a subject of the log.
func (s Subjects) told(subject string) string {
	return s.Prefix + ".live." + strings.TrimPrefix(subject, s.Prefix+".log.")
}

// Command is the subject of a command; verb is create, update or delete.
func (s Subjects) Command(typ, verb string) string { return s.Prefix + ".cmd." + typ + "." + verb }

// Transaction is the subject of commands that happen together.
func (s Subjects) Transaction() string { return s.Prefix + ".cmd._transaction" }

// SOAP is the subject that envelopes travel on; version is a token such as v1.
func (s Subjects) SOAP(version, service string) string {
	return s.Prefix + ".soap." + version + "." + service
}

// Events is the subject of one client's event stream, at the process that
// holds it; name is one token.
func (s Subjects) Events(name string) string { return s.Prefix + ".ctl.events." + name }

// Order is where a process takes orders from operators; name is one token.
func (s Subjects) Order(name string) string { return s.Prefix + ".ctl.order." + name }

// Stream is the name of the log's stream.
func (s Subjects) Stream() string { return s.Prefix + "-log" }

func token(id string) string {
	if plain(id) {
		return id
	}
	return "=" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

func untoken(tok string) (string, bool) {
	enc, ok := strings.CutPrefix(tok, "=")
	if !ok {
		return tok, plain(tok)
	}
	id, err := base64.RawURLEncoding.DecodeString(enc)
	// One id has one token: the decoder would let others pass, with line breaks
	// or idle bits in them.
	return string(id), err == nil && token(string(id)) == tok
}

func plain(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return id != ""
}

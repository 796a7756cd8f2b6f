// Package resource says what a command does, what a read finds and what a
// watcher is told.
//
// A command travels: Client.Submit → bus → Worker → Decide (pure) → the log.
// A change travels back: the log → Feed → view → Watcher. Reads are answered
// from this process's view, after the resource's own rules. The package knows
// neither GraphQL nor XML. It is the door for google/uuid.
package resource

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/trace"
)

// Verb is what a command does with a record.
type Verb string

// The verbs, in the words that subjects use.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Command asks for one change of one record.
type Command struct {
	Type string
	Verb Verb
	// Input is the coerced input object as JSON. For Update and Delete it holds
	// the id; for Update a member that is absent stays as it is, one that is
	// null is cleared.
	Input json.RawMessage
	Who   auth.Principal
	// ID names the command in the log and in traces; empty: Submit makes one.
	ID string
	// Once makes a command that is sent again harmless; nil for those that are
	// not.
	Once *Once
}

// Kind is what happened to a record.
type Kind string

// The kinds of change, in the words of the contract's ChangeKind. The log holds
// the first three. Entered and Left are what an update is to those who see only
// some of the records (Sight); Snapshot is no change at all, but a record as it is.
const (
	Created Kind = "CREATED"
	Updated Kind = "UPDATED"
	Deleted Kind = "DELETED"
	Entered Kind = "ENTERED"
	Left    Kind = "LEFT"

	Snapshot Kind = "SNAPSHOT"
)

// Record is one record as it stands in the log.
type Record struct {
	Raw []byte // the JSON object
	Seq uint64 // where in the log it was written
}

// Event is one change of a record.
type Event struct {
	Seq  uint64
	Kind Kind
	Type string
	ID   string
	// Raw is the record after the change. For Deleted it is a stub with the id
	// and the owner field, so that it can still be decided who may know.
	Raw  []byte
	Time time.Time
	// Prev is the sequence of the record's event before this one; 0: there is none.
	Prev uint64
	// Before is the record before the change, nil when there was none. The feed's
	// own events have it, those of a Past where its Sight needs it.
	Before []byte
	// Cause is the span that wrote it, for what it sets off to refer to; nil where
	// that is not recorded.
	Cause *trace.Remote
	// Lost: something that happened to the record before was trimmed from the log
	// before this process read it. Whoever follows the record has missed it.
	Lost bool
}

// Position is a place in one log: everything up to Seq has been seen. It is
// not a permission; whoever comes with one is authorized as anybody else.
type Position struct {
	Log string // bus.LogID
	Seq uint64
}

// String returns the position as a cursor: opaque to clients, safe in a URL
// and in a header.
func (p Position) String() string {
	return p.Log + "-" + strconv.FormatUint(p.Seq, 36)
}

// ParsePosition reads what String wrote. The fault is BadUserInput.
func ParsePosition(cursor string) (Position, error) {
	log, num, ok := strings.Cut(cursor, "-")
	seq, err := strconv.ParseUint(num, 36, 64)
	p := Position{Log: log, Seq: seq}
	if !ok || err != nil || log == "" || p.String() != cursor {
		return Position{}, fault.New(fault.BadUserInput, "the cursor is malformed; use one that an event of this service carried")
	}
	return p, nil
}

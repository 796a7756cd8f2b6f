package resource

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"tidings/bus"
	"tidings/fault"
)

// A command that is to happen once may be carried out by several workers, one
// after another or at the same time, because its caller did not learn how the
// first one fared. Each looks for the command's id among the record's changes
// before it decides, and a new record's id comes from the command's, so that
// they all look at the same record. The log's expected sequences see to it that
// of two who found nothing only one writes; the other one looks again.

// Once says that a command changes the log once, however often it is sent with
// the same ID, and that each time the answer is that of the first. The ID must
// begin with a UUIDv7.
type Once struct {
	// Since is a position of the log from before the command was sent for the
	// first time.
	Since uint64 `json:"since"`
	// First says that the command is sent for the first time: the record that it
	// creates need not be looked for before it is tried, and what the log had
	// trimmed before anybody could send it again was not the command. Should it be
	// sent again meanwhile, and that come to the log before, it is found all the same.
	First bool `json:"first,omitempty"`
}

// first reports whether the command is sent for the first time.
func (o *Once) first() bool { return o == nil || o.First }

// freshOnce returns the id that a command which is to happen once gives a new
// record: a UUIDv7 of the time in the command's id, the same each time. Those of
// the commands that a request numbers ("…-3") sort by their numbers.
func freshOnce(id string) (string, error) {
	if len(id) < 36 {
		return "", errNotOnce
	}
	seed, err := uuid.Parse(id[:36])
	if err != nil || seed.Version() != 7 {
		return "", errNotOnce
	}
	sum := sha256.Sum256([]byte(id))
	u := uuid.UUID(sum[:16])
	copy(u[:8], seed[:8]) // the time with its fractions, so that ids of one millisecond sort by age, too
	if place, err := strconv.ParseUint(id[strings.LastIndexByte(id, '-')+1:], 10, 14); err == nil && len(id) > 36 {
		binary.BigEndian.PutUint16(u[8:], uint16(place))
	}
	u[8] = u[8]&0x3f | 0x80 // the variant
	return u.String(), nil
}

var errNotOnce = fault.New(fault.BadRequest, "the id of a command that is to happen once must begin with a UUIDv7")

// once looks for the command among all changes of its record. Seq is 0 when it
// has certainly not happened. The fault is Conflict when that cannot be told,
// because the log no longer keeps all that was written since the command was
// sent first.
func (c *carry) once(ctx context.Context, last *bus.Message) (done Record, err error) {
	if last == nil || without(last, c.cmd.ID, c.cmd.Once.Since) {
		return Record{}, nil
	}
	done, trimmed, err := c.w.find(ctx, c.subject, c.cmd.Command, c.cmd.Once.Since, last.Seq)
	if err == nil && done.Seq == 0 && !trimmed.IsZero() && (len(c.doubts) > 0 || !c.cmd.alone(trimmed)) {
		err = cannotTell(c.cmd.Type)
	}
	return done, err
}

// alone reports whether until a time of the log nobody but this worker can have
// got the command: it was sent for the first time, and it takes commandSilence
// until it is sent again. This worker, or what is on the way to it, may have stood
// still for long. The clocks of the caller and the log decide; where they differ
// by more, a refusal too many or one too few comes of it.
func (cmd Command) alone(until time.Time) bool {
	return cmd.Once != nil && cmd.Once.First && until.Before(sentAt(cmd.ID).Add(commandSilence))
}

// sentAt is the time in the id of a command that is to happen once: before it was
// sent for the first time.
func sentAt(id string) time.Time {
	seed, err := uuid.Parse(id[:min(len(id), 36)])
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seed.Time().UnixTime())
}

// without reports whether a record's newest message tells that a command is not
// among those after since: it is older, or the only one and another's.
func without(last *bus.Message, command string, since uint64) bool {
	return last.Seq <= since || last.Prev <= since && last.Header.Get(headerCommand) != command
}

// find looks for a command's change among those of its record. The record's Seq
// is 0 when it is not there; trimmed is not zero when the log does not keep all
// changes after since, so that it may have been there: none of those that are gone
// is younger.
func (w *Worker) find(ctx context.Context, subject string, cmd Command, since, upto uint64) (done Record, trimmed time.Time, err error) {
	var before bus.Message
	_, err = w.bus.Read(ctx, subject, 0, upto, func(m bus.Message) error {
		if before.Seq == 0 && m.Prev > since { // the oldest that is kept tells whether one is missing
			trimmed = m.Time
		}
		if m.Header.Get(headerCommand) == cmd.ID {
			done = first(cmd.Verb, m, before)
		}
		before = m
		return nil
	})
	if err != nil {
		return Record{}, time.Time{}, fmt.Errorf("look for %s in the log: %w", cmd.ID, err)
	}
	return done, trimmed, nil
}

// first is the answer that the change in m got: the record, for Delete as it
// was, which the message before tells unless it is no longer kept.
func first(verb Verb, m, before bus.Message) Record {
	if verb == Delete && before.Seq == m.Prev && before.Seq > 0 {
		return Record{Raw: before.Data, Seq: m.Seq}
	}
	return Record{Raw: m.Data, Seq: m.Seq}
}

// NewCommandID returns what the ids of commands that happen once begin with.
func NewCommandID() string { return newID() }

package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
	"tidings/internal/rawjson"
)

var (
	// ErrConflict says that some subject's last sequence was not the expected
	// one. Nothing was stored. Reading the subject again and deciding anew is
	// right; with several replicas it may also happen without another writer.
	ErrConflict = errors.New("the log went on meanwhile")
	// ErrUnknownOutcome says that no acknowledgement came: the entries may be
	// in the log or not, all of them or none. Reading tells which.
	ErrUnknownOutcome = errors.New("the append may or may not have happened")
)

// MaxEntries is how many entries one Append may carry: the server's limit of
// an atomic batch.
const MaxEntries = 1000

// Entry is one message to be stored.
type Entry struct {
	Subject string // under Subjects.Log
	Header  Header // may be nil
	Data    []byte
	// After is the sequence that must be the last of the subject; 0 means that
	// the subject must be empty.
	After uint64
	// Of is the subject that After speaks of, where it is not the entry's own:
	// then the entry is stored whatever its own subject holds. No other entry of
	// the same Append may write to Of. Message.Prev of what is stored is 0.
	Of string
}

// watched is the subject whose last sequence is expected.
func (e *Entry) watched() string {
	if e.Of != "" {
		return e.Of
	}
	return e.Subject
}

// Append stores the entries, all of them or none, and returns the sequence of
// the last; they stand together in the log, in order. It answers only after the
// log has acknowledged them. No two entries may have the same subject.
//
// Errors: ErrConflict and faults (UNAVAILABLE, PAYLOAD_TOO_LARGE) mean that
// nothing was stored; ErrUnknownOutcome that nobody can tell, and it wraps the
// context's error when that ended. With several replicas an ErrConflict, or an
// UNAVAILABLE of the log, is an ErrUnknownOutcome as well. Without a deadline
// Options.CallTimeout holds.
func (b *Bus) Append(ctx context.Context, entries ...Entry) (last uint64, err error) {
	if len(entries) == 0 || len(entries) > MaxEntries {
		return 0, fmt.Errorf("append %d entries: between 1 and %d are possible", len(entries), MaxEntries)
	}
	ctx, cancel := b.bound(ctx)
	defer cancel()
	ctx, span := b.appending(ctx, entries)
	defer func() { finish(span, err) }()
	msgs, err := b.messages(entries)
	if err != nil {
		return 0, err
	}
	if span != nil {
		b.carry(ctx, msgs)
	}
	began := time.Now()
	if len(msgs) > 1 {
		last, err = b.appendGrouped(ctx, entries, msgs)
	} else {
		last, err = b.commit(ctx, msgs)
	}
	if err == nil {
		b.appends.Load().Observe(time.Since(began))
	}
	return last, err
}

// BatchesWait reports whether an Append of several entries takes much longer than
// several of one entry after another. A server without replicas makes a directory
// for each batch and writes it through to the disk; where it does so for single
// entries, too, one batch is the better choice. Of servers elsewhere nobody knows.
func (b *Bus) BatchesWait() bool { return b.server != nil && !b.opts.SyncAlways }

// messages turns entries into messages.
func (b *Bus) messages(entries []Entry) ([]*nats.Msg, error) {
	msgs := make([]*nats.Msg, len(entries))
	for i, e := range entries {
		if err := checkSubject(e.Subject); err != nil {
			return nil, err
		}
		m := outgoing(e.Subject, e.Header, e.Data)
		m.Header.Set(headerExpected, strconv.FormatUint(e.After, 10))
		if e.Of != "" {
			if err := checkSubject(e.Of); err != nil {
				return nil, err
			}
			m.Header.Set(headerExpectedOf, e.Of)
		}
		size, limit := m.Size(), b.nc.MaxPayload()
		if len(entries) > 1 {
			size += batchHeaders
		}
		if int64(size) > limit {
			return nil, fault.New(fault.PayloadTooLarge, "the record is larger than the %d bytes that the bus carries", limit)
		}
		msgs[i] = m
	}
	return msgs, nil
}

// commit sends the messages; the last one asks for the acknowledgement of all.
func (b *Bus) commit(ctx context.Context, msgs []*nats.Msg) (uint64, error) {
	end := len(msgs) - 1
	for _, m := range msgs[:end] {
		if err := b.nc.PublishMsg(m); err != nil { // without its commit the batch is nothing
			return 0, fault.Wrap(err, fault.Unavailable, "the log cannot be reached")
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("append: %w", err)
	}
	resp, err := b.exchange(ctx, msgs[end])
	if err != nil {
		return 0, appendError(err)
	}
	ack, err := readAck(resp.Data)
	if err != nil {
		return 0, fmt.Errorf("%w: append to %s: %w", ErrUnknownOutcome, msgs[end].Subject, err)
	}
	if ack.Error != nil {
		err := refused(ack.Error, msgs[end].Subject)
		if isFull(ack.Error) { // for whoever leads
			b.full.tell(ctx, b, ack.Error)
			return 0, err
		}
		return 0, b.refusal(err)
	}
	if ack.Stream != b.subjects.Stream() || ack.Seq == 0 || (end > 0 && ack.Count != len(msgs)) {
		return 0, fmt.Errorf("%w: append to %s: acknowledged by stream %q, sequence %d, %d messages", ErrUnknownOutcome, msgs[end].Subject, ack.Stream, ack.Seq, ack.Count)
	}
	return ack.Seq, nil
}

// ack is what the stream answers to an append.
type ack struct {
	Error  *apiError `json:"error"`
	Stream string    `json:"stream"`
	Seq    uint64    `json:"seq"`
	Count  int       `json:"count"`
}

// readAck reads an answer: one without an error, as nearly all are, without
// encoding/json.
func readAck(data []byte) (a ack, err error) {
	var found [4]rawjson.Extent
	if !rawjson.Valid(data) || !rawjson.Find(data, []string{"stream", "seq", "count", "error"}, found[:]) || found[3] != (rawjson.Extent{}) {
		err = json.Unmarshal(data, &a)
		return a, err
	}
	a.Stream = rawjson.Unquote(found[0].Of(data))
	if a.Seq, err = strconv.ParseUint(string(found[1].Of(data)), 10, 64); err == nil && found[2] != (rawjson.Extent{}) {
		a.Count, err = strconv.Atoi(string(found[2].Of(data)))
	}
	return a, err
}

// refusal is what a refusal of the log says. With several replicas, two may take
// themselves for the leader for a moment after the network was cut, and both get
// what is appended: the one that was replaced refuses what the other stores, and
// nobody can tell whose answer came first.
func (b *Bus) refusal(err error) error {
	if b.replicated.Load() && (errors.Is(err, ErrConflict) || fault.Is(err, fault.Unavailable)) {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// appendError reads an append that nobody answered.
func appendError(err error) error {
	switch {
	case offline(err):
		return fault.Wrap(err, fault.Unavailable, "the log has no leader or cannot be reached")
	case errors.Is(err, ErrDenied):
		return err
	case errors.Is(err, nats.ErrMaxPayload):
		return fault.Wrap(err, fault.PayloadTooLarge, "the record is larger than the bus carries")
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// refused reads an append that the stream answered with an error: it stored nothing.
func refused(err *apiError, subject string) error {
	switch {
	case isCode(err, codeWrongLastSequence, codeWrongLastConstant):
		return fmt.Errorf("append to %s: %w (%w)", subject, ErrConflict, err)
	case isCode(err, codeMessageTooLarge):
		return fault.Wrap(err, fault.PayloadTooLarge, "the record is larger than the log takes")
	case isFull(err):
		return fault.Wrap(err, fault.Unavailable, "there is no room for more until the operator of this service raises a limit of storage")
	case err.Status == 503, isCode(err, codeIncompleteBatch):
		return fault.Wrap(err, fault.Unavailable, "the log is not available")
	}
	return fmt.Errorf("append to %s: %w", subject, err)
}

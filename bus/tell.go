package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

// Tell publishes on a subject of the adopter's. h may be nil.
//
// Without a stream it returns when the server has the message; nobody learns
// whether anybody heard it. With one it returns when that stream has stored it,
// and no other stream takes it in its place. A header Nats-Msg-Id makes a
// message that is told twice be stored once, within the stream's own window.
//
// Errors are faults: UNAVAILABLE, nothing was published or stored: the bus is
// away, or the stream is not there or does not take the subject, and then the
// message names the remedy; TIMEOUT, nobody can tell; PAYLOAD_TOO_LARGE;
// BAD_USER_INPUT and FORBIDDEN as Ask; INTERNAL, the stream refused it or
// somebody else answered in its place.
func (b *Bus) Tell(ctx context.Context, stream, subject string, h Header, data []byte) error {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	if err := b.checkForeign(subject, false); err != nil {
		return err
	}
	msg := outgoing(subject, h, data)
	if stream != "" {
		msg.Header.Set(headerExpectedStream, stream)
	}
	if limit := b.nc.MaxPayload(); int64(msg.Size()) > limit {
		return fault.New(fault.PayloadTooLarge, "the message is larger than the %d bytes that the bus carries", limit)
	}
	if stream == "" {
		return b.tell(ctx, msg)
	}
	return b.store(ctx, stream, msg)
}

const headerExpectedStream = "Nats-Expected-Stream"

func (b *Bus) tell(ctx context.Context, msg *nats.Msg) error {
	err := b.nc.PublishMsg(msg)
	if err == nil {
		err = b.nc.FlushWithContext(ctx)
	}
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "the bus did not take the message in time")
	}
	return unavailable(err)
}

func (b *Bus) store(ctx context.Context, stream string, msg *nats.Msg) error {
	resp, err := b.exchange(ctx, msg)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return b.whyNotStored(ctx, stream, msg.Subject, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "the stream %s did not acknowledge in time", stream)
	case err != nil:
		return unavailable(err)
	}
	var ack struct {
		Error  *apiError `json:"error"`
		Stream string    `json:"stream"`
		Seq    uint64    `json:"seq"`
	}
	if err := json.Unmarshal(resp.Data, &ack); err != nil || ack.Error == nil && (ack.Stream != stream || ack.Seq == 0) {
		return fmt.Errorf("tell %s: %.200q is no acknowledgement of the stream %s: does a service answer on the same subject", msg.Subject, resp.Data, stream)
	}
	switch err := ack.Error; {
	case err == nil:
		return nil
	case isCode(err, codeOtherStream):
		return b.whyNotStored(ctx, stream, msg.Subject, err)
	case isCode(err, codeMessageTooLarge):
		return fault.Wrap(err, fault.PayloadTooLarge, "the message is larger than the stream %s takes", stream)
	case err.Status == 503:
		return fault.Wrap(err, fault.Unavailable, "the stream %s does not take it just now", stream)
	default:
		return fmt.Errorf("tell %s: %w", msg.Subject, err)
	}
}

// whyNotStored finds out why a stream did not take what was sent to it.
func (b *Bus) whyNotStored(ctx context.Context, stream, subject string, cause error) error {
	info, err := b.stateOf(ctx, stream)
	if err != nil {
		return missing(stream, err)
	}
	if !slices.ContainsFunc(info.subjects, func(filter string) bool { return matches(filter, subject) }) {
		return fault.Wrap(cause, fault.Unavailable, "the stream %s does not take what is published on %s: add the subject to the stream", stream, subject)
	}
	return fault.Wrap(cause, fault.Unavailable, "the stream %s has no leader just now", stream)
}

// missing says why the state of a stream is not known, and names the remedy when
// the stream is not there.
func missing(stream string, err error) error {
	switch {
	case isCode(err, codeStreamNotFound):
		return fault.Wrap(err, fault.Unavailable, "there is no stream %s: create it, or correct its name in the schema", stream)
	case errors.Is(err, context.DeadlineExceeded): // which is ours: a leader that went away in silence
		return fault.Wrap(err, fault.Unavailable, "the stream %s does not answer just now", stream)
	}
	return fmt.Errorf("stream %s: %w", stream, unavailable(err))
}

// matches reports whether a subject is among those of a filter.
func matches(filter, subject string) bool {
	for {
		f, fs, more := strings.Cut(filter, ".")
		s, ss, deeper := strings.Cut(subject, ".")
		switch {
		case f == ">":
			return true
		case f != "*" && f != s:
			return false
		case !more || !deeper:
			return more == deeper
		}
		filter, subject = fs, ss
	}
}

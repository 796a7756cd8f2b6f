package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

// Ask sends a request to a service of the adopter's, in any language, and waits
// for its answer. breaker names the circuit breaker: the template that the
// subject was made from, so that their number is bounded whatever the subjects
// hold. Where values stand in it ("{{"), a subject that nobody hears is no failure:
// a caller who makes names up does not shut the others out. h may be nil. Time,
// breaker and faults are those of Call.
//
// An answer is an error when it is the JSON object {"error": {…}} with no other
// member, or carries the error headers of a NATS micro service. Its code is
// kept when it is one of room fault, with its message, clipped, and its field.
// Every other code, and INTERNAL, is an INTERNAL whose text is the cause alone.
// BAD_USER_INPUT: the subject cannot be published on; FORBIDDEN: it is one of
// the service's own, or of the server's.
func (b *Bus) Ask(ctx context.Context, breaker, subject string, h Header, data []byte) (Message, error) {
	if err := b.checkForeign(subject, false); err != nil {
		return Message{}, err
	}
	return b.request(ctx, breaker, outgoing(subject, h, data), 0, foreignFault)
}

// checkForeign refuses a subject that is not an adopter's to use: one that
// cannot be one, and those of this service and of the server. What clients send
// may have become part of it.
func (b *Bus) checkForeign(subject string, wildcards bool) error {
	if len(subject) > maxSubject {
		return fault.New(fault.BadUserInput, "the subject is longer than %d bytes", maxSubject)
	}
	for i, tok := range strings.Split(subject, ".") {
		switch {
		case tok == "":
			return fault.New(fault.BadUserInput, "the subject has an empty part")
		case strings.ContainsFunc(tok, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }):
			return fault.New(fault.BadUserInput, "the subject has a part with white space in it")
		case tok != "*" && tok != ">":
		case !wildcards:
			return fault.New(fault.BadUserInput, "the subject has a part that is a wildcard")
		case i == 0:
			return fault.New(fault.Forbidden, "the subject begins with a wildcard, which stands for the service's own too")
		case tok == ">" && !strings.HasSuffix(subject, ".>"):
			return fault.New(fault.BadUserInput, "the subject has a > that is not at its end")
		}
	}
	if b.subjects.Own(subject) {
		return fault.New(fault.Forbidden, "the subject is not one of the service's to use here")
	}
	return nil
}

// foreignFault reads an error answer of an adopter's service.
func foreignFault(m *nats.Msg) *fault.Error {
	f := errorObject(m.Data)
	if f == nil {
		f = serviceFault(m)
	}
	switch {
	case f == nil || f.Err != nil:
		return f
	case f.Code == fault.Internal: // what it says of itself is not for strangers
		return fault.Wrap(fmt.Errorf("the service answered %.200q", f.Message), fault.Internal, "internal error")
	}
	return &fault.Error{Code: f.Code, Message: clip(f.Message, "the service refused it", 500), Field: clip(f.Field, "", 200)}
}

// errorObject reads {"error": {"code": …, "message": …, "field": …}}; nil when
// data is anything else. An object with other members is data: a type may have
// a field of that name.
func errorObject(data []byte) *fault.Error {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	if !ok || !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"error"`)) {
		return nil // which spares nearly every answer the decoding
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || len(members) != 1 || !bytes.HasPrefix(members["error"], []byte("{")) {
		return nil
	}
	return fault.Decode(members["error"])
}

// clip makes a foreign text fit to be shown: valid, on one line, of so many
// bytes at most.
func clip(s, empty string, size int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if s == "" {
		return empty
	}
	if len(s) > size {
		s = strings.ToValidUTF8(s[:size], "") + "…"
	}
	return s
}

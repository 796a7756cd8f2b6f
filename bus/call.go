package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"tidings/fault"
)

// HeaderTimeout carries how many milliseconds the caller still waits, counted
// from the sending: clocks of different hosts need not agree.
const HeaderTimeout = "Tidings-Timeout"

// answered marks a fault that the service itself sent: a sign of life.
type answered struct{ fault *fault.Error }

func (a *answered) Error() string { return a.fault.Error() }

// Call sends a request and waits for the answer. Without a deadline
// Options.CallTimeout holds; the service is told how long the caller waits. h
// may be nil.
//
// Errors are faults: the one that the service answered; UNAVAILABLE at once
// when nobody listens or the circuit breaker is open; TIMEOUT when no answer
// came in time (the work may have been done all the same); PAYLOAD_TOO_LARGE.
// A cancelled ctx comes back as its own error.
func (b *Bus) Call(ctx context.Context, subject string, h Header, data []byte) (Message, error) {
	return b.call(ctx, subject, h, data, 0)
}

// call gives up when there was nothing but silence for so long, if that is not
// zero; the service is told to work for as long as ctx says all the same.
func (b *Bus) call(ctx context.Context, subject string, h Header, data []byte, silence time.Duration) (m Message, err error) {
	ctx, span, h := b.requesting(ctx, subject, h)
	defer func() { finish(span, err) }()
	if err := checkSubject(subject); err != nil {
		return Message{}, err
	}
	msg := outgoing(subject, h, data)
	if err := b.fits(msg); err != nil {
		return Message{}, err
	}
	if m, done, err := b.callHere(ctx, subject, h, data, false); done {
		return m, err
	}
	m, err = b.request(ctx, b.breakers.class(subject), msg, silence, serviceFault)
	if shut(err) { // nobody got it, so the queue of this process may have it
		if m, done, err := b.callHere(ctx, subject, h, data, true); done {
			return m, err
		}
	}
	return m, err
}

// request sends msg behind the breaker of that name; silence is that of call, and
// failed says whether an answer is an error of the service.
func (b *Bus) request(ctx context.Context, breaker string, msg *nats.Msg, silence time.Duration, failed func(*nats.Msg) *fault.Error) (Message, error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	deadline, _ := ctx.Deadline()
	msg.Header.Set(HeaderTimeout, strconv.FormatInt(max(1, time.Until(deadline).Milliseconds()), 10))
	if err := b.fits(msg); err != nil {
		return Message{}, err
	}
	if silence > 0 && silence < time.Until(deadline) {
		ctx, cancel = context.WithTimeout(ctx, silence)
		defer cancel()
	}
	m, err := b.breakers.do(ctx, breaker, func() (Message, error) {
		resp, err := b.exchange(ctx, msg)
		if err != nil {
			return Message{}, callError(err)
		}
		if f := failed(resp); f != nil {
			return Message{}, &answered{f}
		}
		return Message{Subject: msg.Subject, Header: Header(resp.Header), Data: resp.Data}, nil
	})
	if a, ok := errors.AsType[*answered](err); ok {
		return Message{}, a.fault
	}
	return m, err
}

// fits refuses a request that no server would carry.
func (b *Bus) fits(request *nats.Msg) error {
	if limit := b.nc.MaxPayload(); int64(request.Size()) > limit {
		return fault.New(fault.PayloadTooLarge, "the request is larger than the %d bytes that the bus carries", limit)
	}
	return nil
}

func callError(err error) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fault.Wrap(err, fault.Unavailable, "no service is there to answer")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return fault.Wrap(err, fault.Timeout, "the service did not answer in time")
	}
	return unavailable(err)
}

// serviceFault reads an error answer of a NATS micro service (ADR-32): ours
// carry the fault as JSON, others their code and text in headers alone.
func serviceFault(m *nats.Msg) *fault.Error {
	code := m.Header.Get(micro.ErrorCodeHeader)
	text := m.Header.Get(micro.ErrorHeader)
	if code == "" && text == "" {
		return nil
	}
	if len(m.Data) > 0 {
		if f := fault.Decode(m.Data); f.Err == nil {
			if m.Header.Get(headerStale) != "" {
				f.Err = ErrStale
			}
			return f
		}
	}
	if fault.Code(code).Known() {
		return fault.New(fault.Code(code), "%s", text)
	}
	return fault.Wrap(fmt.Errorf("the service answered %.20q %.200q", code, text), fault.Internal, "internal error")
}

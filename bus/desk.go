package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"tidings/fault"
)

const (
	// deskQueue bounds the requests that wait at a desk; more are lost, and
	// those who ask get no answer in time.
	deskQueue = 1024
	// deskWorkers is how many requests of a desk are at work at once.
	deskWorkers = 16
)

// Desk answers requests on subjects that come and go and that only this process
// answers, such as one for each connection of a client. NewDesk makes one. Its
// methods may be called concurrently.
type Desk struct {
	bus    *Bus
	asked  chan *nats.Msg
	handle func(ctx context.Context, m Message) ([]byte, error)
}

// NewDesk returns a desk whose requests handle answers: up to 16 at a time, with
// a ctx that ends when nobody waits any more. Its errors travel as those of an
// Endpoint. Nothing is answered before Run.
func (b *Bus) NewDesk(handle func(ctx context.Context, m Message) ([]byte, error)) *Desk {
	return &Desk{bus: b, asked: make(chan *nats.Msg, deskQueue), handle: handle}
}

// Open makes the desk answer a subject until close is called. When it returns,
// who asks from anywhere reaches it. The error is UNAVAILABLE while the bus is
// away.
func (d *Desk) Open(ctx context.Context, subject string) (shut func(), err error) {
	sub, err := d.bus.nc.ChanSubscribe(subject, d.asked)
	if err != nil {
		return nil, fmt.Errorf("answer %s: %w", subject, unavailable(err))
	}
	shut = func() { _ = sub.Unsubscribe() } // which fails on a closed connection: it is gone then
	ctx, cancel := d.bus.bound(ctx)
	defer cancel()
	if err := d.bus.nc.FlushWithContext(ctx); err != nil {
		shut()
		return nil, fmt.Errorf("answer %s: %w", subject, unavailable(err))
	}
	if err := d.bus.held(subject); err != nil {
		shut()
		return nil, fmt.Errorf("answer %s: %w", subject, err)
	}
	return shut, nil
}

// Run answers until ctx ends.
func (d *Desk) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for range deskWorkers {
		wg.Go(func() {
			for {
				select {
				case m := <-d.asked:
					d.answer(ctx, m)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	wg.Wait()
}

func (d *Desk) answer(ctx context.Context, m *nats.Msg) {
	if m.Reply == "" {
		return
	}
	data, err := d.work(ctx, m)
	reply := outgoing(m.Reply, nil, data)
	if err != nil {
		f := fault.Of(err)
		if f.Code == fault.Internal {
			d.bus.log.LogAttrs(ctx, slog.LevelError, "handler failed", slog.String("subject", m.Subject), slog.Any("error", err))
		}
		reply.Data, _ = json.Marshal(f) // three strings and a number cannot fail
		reply.Header.Set(micro.ErrorCodeHeader, string(f.Code))
		reply.Header.Set(micro.ErrorHeader, line(f.Message))
	}
	if err := d.bus.nc.PublishMsg(reply); err != nil {
		d.bus.log.LogAttrs(ctx, slog.LevelWarn, "answer not sent", slog.String("subject", m.Subject), slog.Any("error", err))
	}
}

// work does what is asked. Here strangers' input is worked on, hence the
// recover.
func (d *Desk) work(ctx context.Context, m *nats.Msg) (data []byte, err error) {
	wait := d.bus.opts.CallTimeout
	if ms, err := strconv.ParseInt(m.Header.Get(HeaderTimeout), 10, 64); err == nil && ms > 0 {
		wait = time.Duration(min(ms, time.Hour.Milliseconds())) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			d.bus.log.LogAttrs(ctx, slog.LevelError, "handler panicked", slog.String("subject", m.Subject), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fault.New(fault.Internal, "internal error")
		}
	}()
	return d.handle(ctx, Message{Subject: m.Subject, Header: Header(m.Header), Data: m.Data})
}

// Reach sends a request to the one process whose desk answers the subject. Unlike
// Call it has no circuit breaker: that nobody answers one such subject says
// nothing about another. Without a deadline Options.CallTimeout holds.
//
// Errors are faults: the one that was answered; NOT_FOUND at once when no desk
// answers the subject; UNAVAILABLE while the bus is away; TIMEOUT when no answer
// came in time; PAYLOAD_TOO_LARGE. A cancelled ctx comes back as its own error.
func (b *Bus) Reach(ctx context.Context, subject string, data []byte) (Message, error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	if err := checkSubject(subject); err != nil {
		return Message{}, err
	}
	msg := outgoing(subject, nil, data)
	deadline, _ := ctx.Deadline()
	msg.Header.Set(HeaderTimeout, strconv.FormatInt(max(1, time.Until(deadline).Milliseconds()), 10))
	if limit := b.nc.MaxPayload(); int64(msg.Size()) > limit {
		return Message{}, fault.New(fault.PayloadTooLarge, "the request is larger than the %d bytes that the bus carries", limit)
	}
	resp, err := b.exchange(ctx, msg)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return Message{}, fault.Wrap(err, fault.NotFound, "nobody answers to this name")
	case err != nil:
		return Message{}, callError(err)
	}
	if f := serviceFault(resp); f != nil {
		return Message{}, f
	}
	return Message{Subject: subject, Header: Header(resp.Header), Data: resp.Data}, nil
}

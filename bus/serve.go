package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"tidings/fault"
)

// Endpoint is one subject that a service answers.
type Endpoint struct {
	// Name is shown by service discovery; letters of [A-Za-z0-9_-].
	Name    string
	Subject string
	// Handle answers one request. Its ctx ends when the caller has stopped
	// waiting. An error travels to the caller as a fault; what is not a
	// *fault.Error travels as INTERNAL without its text. A panic is an INTERNAL.
	Handle func(ctx context.Context, m Message) ([]byte, Header, error)
}

const (
	// What waits for a free worker is bounded; what comes on top is answered
	// UNAVAILABLE at once, so that the caller may try another process.
	queuedRequests = 1024
	queuedBytes    = 32 << 20
	// serviceVersion is that of the payloads, as docs/bus.md describes them.
	serviceVersion = "1.0.0"
)

// Taken is how many requests the services of this process have taken and not
// answered yet, together with the tasks of its queues that are at work.
func (b *Bus) Taken() int { return int(b.taken.Load()) }

// Service is what Serve answers.
type Service struct {
	Name, Description string // shown by service discovery; the name of letters [A-Za-z0-9_-]
	// Concurrency is how many requests are at work at once. Zero means 1.
	Concurrency int
	Endpoints   []Endpoint
	// Started is called once, when requests begin to arrive; nil: nobody asks.
	Started func()
}

// Serve answers the endpoints as a NATS micro service (discovery and
// statistics by $SRV, queue group "q", so that each request reaches one of the
// processes that serve it). It blocks until ctx ends; then it takes no more,
// finishes what it took, and returns nil.
func (b *Bus) Serve(ctx context.Context, what Service) error {
	s := &service{bus: b, ctx: context.WithoutCancel(ctx), most: max(1, what.Concurrency),
		queue: make(chan job, queuedRequests), places: make(chan struct{}), stopped: make(chan struct{})}
	// Work arrives on a connection of its own: it can be drained to the last
	// request, and a flood of requests does not hold up the log's live path.
	closed := make(chan struct{})
	nc, err := b.connect(ctx, b.opts.Name+" "+what.Name, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		return fmt.Errorf("serve %s: %w", what.Name, err)
	}
	err = s.register(nc, what)
	if err == nil {
		for range s.most {
			s.workers.Go(s.work)
		}
		if what.Started != nil {
			what.Started()
		}
		select {
		case <-ctx.Done():
			b.nears.remove(s)
			if nc.Drain() != nil { // disconnected: there is nothing to drain
				nc.Close()
			}
		case <-closed:
			err = fault.New(fault.Unavailable, "the bus connection was closed")
		}
	}
	if err != nil {
		nc.Close()
	}
	<-closed
	b.nears.remove(s)
	// A handler of the closed connection may still be on its way into the
	// queue, which is therefore never closed: what is in it is finished.
	close(s.stopped)
	s.workers.Wait()
	if err != nil {
		return fmt.Errorf("serve %s: %w", what.Name, err)
	}
	return nil
}

type service struct {
	bus   *Bus
	ctx   context.Context // of the process, never cancelled: what was taken is finished
	queue chan job
	// workers take what is in the queue; places are given back by one of them to
	// a handler that was Aside.
	workers sync.WaitGroup
	places  chan struct{}
	// stopped is closed when the connection is, and no more work comes.
	stopped chan struct{}
	bytes   atomic.Int64 // of the data in queue
	working atomic.Int64 // requests at work
	most    int          // of them, by Service.Concurrency
}

// job is one request on its way to a worker.
type job struct {
	ep       *endpoint
	msg      Message
	reply    string
	here     chan outcome // takes the one answer; nil: it goes to reply, over the bus
	came     time.Time
	deadline time.Time
}

// endpoint adds the statistics that micro cannot know, since the work is done
// after its handler returned.
type endpoint struct {
	Endpoint
	requests, errors atomic.Int64
	busy             atomic.Int64 // nanoseconds at work
}

func (s *service) register(nc *nats.Conn, what Service) error {
	served := make(map[string]*endpoint, len(what.Endpoints))
	for _, ep := range what.Endpoints {
		served[ep.Name] = &endpoint{Endpoint: ep}
	}
	svc, err := micro.AddService(nc, micro.Config{
		Name: what.Name, Description: what.Description, Version: serviceVersion,
		StatsHandler: func(e *micro.Endpoint) any { return served[e.Name].stats() },
	})
	if err != nil {
		return err
	}
	for _, ep := range what.Endpoints {
		handler := s.handler(served[ep.Name])
		if err := svc.AddEndpoint(ep.Name, handler, micro.WithEndpointSubject(ep.Subject)); err != nil {
			return errors.Join(err, svc.Stop())
		}
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return denied(refusedSubject(err))
	}
	for _, ep := range what.Endpoints {
		s.bus.nears.add(s, ep.Subject, served[ep.Name])
	}
	return nil
}

// handler queues a request and never blocks: micro calls it for one request
// after the other.
func (s *service) handler(ep *endpoint) micro.Handler {
	return micro.HandlerFunc(func(r micro.Request) {
		j := job{ep: ep, reply: r.Reply(), came: time.Now(), deadline: s.deadline(r.Headers()),
			msg: Message{Subject: r.Subject(), Header: Header(r.Headers()), Data: r.Data()}}
		if s.bytes.Add(int64(len(j.msg.Data))) > queuedBytes {
			s.refuse(j)
			return
		}
		s.bus.taken.Add(1)
		select {
		case s.queue <- j:
		default:
			s.bus.taken.Add(-1)
			s.refuse(j)
		}
	})
}

func (s *service) refuse(j job) {
	s.bytes.Add(-int64(len(j.msg.Data)))
	s.answer(j, nil, nil, fault.New(fault.Unavailable, "the service has too much to do"))
}

func (s *service) deadline(h micro.Headers) time.Time {
	wait := s.bus.opts.CallTimeout
	if ms, err := strconv.ParseInt(h.Get(HeaderTimeout), 10, 64); err == nil && ms > 0 {
		wait = time.Duration(min(ms, time.Hour.Milliseconds())) * time.Millisecond
	}
	return time.Now().Add(wait)
}

// work does what is in the queue until nothing more comes.
func (s *service) work() {
	for {
		select {
		case j := <-s.queue:
			s.do(j)
		case <-s.places:
			return
		case <-s.stopped:
			s.finish()
			return
		}
	}
}

// finish does what is left.
func (s *service) finish() {
	for {
		select {
		case j := <-s.queue:
			s.do(j)
		default:
			return
		}
	}
}

func (s *service) do(j job) {
	s.working.Add(1)
	defer s.working.Add(-1)
	defer s.bus.taken.Add(-1)
	s.bytes.Add(-int64(len(j.msg.Data)))
	if time.Now().After(j.deadline) { // nobody waits any more
		j.ep.errors.Add(1)
		return
	}
	start := time.Now()
	data, h, err := s.handle(j)
	j.ep.requests.Add(1)
	j.ep.busy.Add(int64(time.Since(start)))
	if j.here != nil {
		s.answerHere(j, data, h, err)
		return
	}
	s.answer(j, data, h, err)
}

// handle runs the endpoint's code. Here strangers' input is worked on, hence
// the recover.
func (s *service) handle(j job) (data []byte, h Header, err error) {
	ctx, cancel := context.WithDeadline(context.WithValue(s.ctx, asideKey{}, s), j.deadline)
	defer cancel()
	ctx, span := s.bus.processing(ctx, j.msg)
	defer func() { finish(span, err) }()
	good := goodUntil(j.msg.Header, j.came)
	if good != nil {
		ctx = context.WithValue(ctx, goodKey{}, good)
		if err := Stale(ctx); err != nil {
			return nil, nil, err
		}
	}
	defer func() {
		if p := recover(); p != nil {
			s.bus.log.LogAttrs(ctx, slog.LevelError, "handler panicked", slog.String("subject", j.msg.Subject), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fault.New(fault.Internal, "internal error")
		}
	}()
	data, h, err = j.ep.Handle(ctx, j.msg)
	if good != nil && good.stale.Load() && !errors.Is(err, ErrStale) { // it does not say what was done before
		return nil, nil, fault.Wrap(ErrStale, fault.Timeout, "the request took too long, and some of it may have been done")
	}
	return data, h, err
}

// answer sends the result. It goes out on the bus's own connection, so that it
// can still be sent while the service's connection is drained.
func (s *service) answer(j job, data []byte, h Header, err error) {
	if j.reply == "" {
		return
	}
	m := outgoing(j.reply, h, data)
	if err == nil {
		err = s.tooLarge(m)
	}
	if err != nil {
		j.ep.errors.Add(1)
		m = s.failure(j, err)
	}
	if err := s.bus.nc.PublishMsg(m); err != nil {
		s.bus.log.LogAttrs(s.ctx, slog.LevelWarn, "answer not sent", slog.String("subject", j.msg.Subject), slog.Any("error", err))
	}
}

func (s *service) tooLarge(answer *nats.Msg) error {
	if limit := s.bus.nc.MaxPayload(); int64(answer.Size()) > limit {
		return fault.New(fault.PayloadTooLarge, "the answer is larger than the %d bytes that the bus carries; ask for less at a time", limit)
	}
	return nil
}

// fault makes of an error what the caller is told of it.
func (s *service) fault(j job, err error) *fault.Error {
	f := fault.Of(err)
	if f.Code == fault.Internal {
		s.bus.log.LogAttrs(s.ctx, slog.LevelError, "handler failed", slog.String("subject", j.msg.Subject), slog.Any("error", err))
	}
	return f
}

// failure is an error as a NATS micro service answers it (ADR-32), with the
// fault as JSON in the body.
func (s *service) failure(j job, err error) *nats.Msg {
	f := s.fault(j, err)
	m := outgoing(j.reply, nil, nil)
	m.Data, _ = json.Marshal(f) // three strings cannot fail
	m.Header.Set(micro.ErrorCodeHeader, string(f.Code))
	m.Header.Set(micro.ErrorHeader, line(f.Message))
	if errors.Is(err, ErrStale) {
		m.Header.Set(headerStale, "1")
	}
	return m
}

// line makes a text fit for a header.
func line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "error"
	}
	return s
}

func (e *endpoint) stats() any {
	if e == nil {
		return nil
	}
	return map[string]int64{
		"handled":         e.requests.Load(),
		"errors":          e.errors.Load(),
		"processing_time": e.busy.Load(),
	}
}

package graphql

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/trace"
	"tidings/resource"
	"tidings/schema"
	"tidings/service"
)

// tap feeds a shard of its own from the bus: what is published on one
// subject, for the groups of one root field. It begins with its first
// subscriber and ends with the last one. What its groups cannot execute as fast
// as it comes waits on the bus, within bounds.
type tap struct {
	engine  *Engine
	binding *schema.Binding
	subject string
	typ     *schema.Type
	shard   *shard
	key     string
	count   uint64 // of what was heard; run's own

	ctx     context.Context
	cancel  context.CancelFunc
	started chan struct{} // closed when it hears, or has failed
	err     error         // why it could not begin
}

// taps are those that run, by their fields and subjects.
type taps struct {
	mu sync.Mutex
	by map[string]*tap
}

const (
	// maxTaps bounds what callers can make a process listen to.
	maxTaps = 4096
	// chunkTime is how long a replay may hold its slot while a stream is away.
	chunkTime = 10 * time.Second
	// startTime is how long a subscription waits for its tap to begin.
	startTime = 5 * time.Second
)

var errTaps = fault.New(fault.Unavailable, "too many different subjects are subscribed to")

// listen subscribes to a field that is fed from the bus.
func (e *Engine) listen(ctx context.Context, who auth.Principal, op *operation, after string, s Sink) (stop func(), failed *Response) {
	m, at, err := e.hear(ctx, who, op, after, s)
	if err != nil {
		return nil, e.refusal(ctx, err)
	}
	if m.behind {
		e.live.replay(e, m, func(ctx context.Context) error { return e.persist(ctx, m, m.shard.past(m.group), at, e.catchUp) })
	}
	return m.leave, nil
}

// hear makes s a member of a group, which is behind when it comes with the
// cursor of a stream.
func (e *Engine) hear(ctx context.Context, who auth.Principal, op *operation, after string, s Sink) (m *member, at uint64, err error) {
	b := op.root.binding
	subject, err := service.Render(b.Subject, op.root.args)
	if err != nil {
		return nil, 0, err
	}
	var from resource.Position
	if b.Stream != "" && after != "" {
		if from, err = resource.ParsePosition(after); err != nil {
			return nil, 0, err
		}
	}
	p, err := e.live.tap(e, op, subject)
	if err != nil {
		return nil, 0, err
	}
	defer p.shard.release()
	if err := p.await(ctx); err != nil {
		return nil, 0, err
	}
	if from.Log != "" && from.Log != p.shard.log {
		return nil, 0, fault.New(fault.CursorExpired, "the cursor belongs to another stream; read the current state and subscribe without a cursor")
	}
	m = &member{sink: s, begun: e.options.Tracer.Here(ctx), behind: from.Log != ""}
	if m.behind && !op.moved {
		m.resume = &resumption{cursor: after}
	}
	g := group{op: op, who: op.view(who)}
	if op.moved && !m.behind { // what came between the engines is not known
		m.first = e.said(ctx, g.who, op, p.gap(), "", nil)
	}
	g.key = g.newKey()
	g.shape = shapeOf(&g)
	if !p.shard.add(m, g) {
		return nil, 0, errStopping
	}
	return m, from.Seq, nil
}

// tap returns the running one of a field and a subject, which is made if
// need be. It is held: the caller must release its shard.
func (l *live) tap(e *Engine, op *operation, subject string) (*tap, error) {
	key := op.root.binding.String() + " " + subject
	l.taps.mu.Lock()
	p := l.taps.by[key]
	if p != nil && p.shard.hold() {
		l.taps.mu.Unlock()
		return p, nil
	}
	if p == nil && len(l.taps.by) >= maxTaps {
		l.taps.mu.Unlock()
		return nil, errTaps
	}
	if l.taps.by == nil {
		l.taps.by = map[string]*tap{}
	}
	p = newTap(e, op, subject, key)
	l.taps.by[key] = p
	l.taps.mu.Unlock()
	if !l.spawn(p.run) {
		p.end(errStopping)
		return nil, errStopping
	}
	return p, nil
}

func newTap(e *Engine, op *operation, subject, key string) *tap {
	p := &tap{
		engine: e, binding: op.root.binding, subject: subject, typ: op.plan.roots[0].typ,
		key: key, started: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	s := newShard(e, p.ctx)
	s.log, s.holds, s.idle = "", 1, p.cancel
	s.past = func(*group) history { return &streamHistory{tap: p} }
	s.recall = func(m *member) history { return &newestHistory{p, m} }
	p.shard = s
	return p
}

// await returns when it hears.
func (p *tap) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case <-p.started:
		return p.err
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Unavailable, "the subscription could not begin in time; try again")
	}
}

// run hears until nobody listens, the engine is closed, or the bus fails.
func (p *tap) run(life context.Context) {
	defer context.AfterFunc(life, p.cancel)()
	err := p.engine.options.Services.Listen(p.ctx, p.binding, p.subject, service.Listener{
		Started: p.begin, Message: p.message, Lost: p.lost,
	})
	if err == nil {
		err = errStopping
	}
	p.end(err)
}

func (p *tap) begin(log string, at uint64) {
	p.shard.mu.Lock()
	p.shard.log, p.shard.pos = log, at
	p.shard.mu.Unlock()
	close(p.started)
}

// end tells those who are still there why nothing follows.
func (p *tap) end(err error) {
	p.cancel()
	l := &p.engine.live
	l.taps.mu.Lock()
	if l.taps.by[p.key] == p {
		delete(l.taps.by, p.key)
	}
	l.taps.mu.Unlock()
	select {
	case <-p.started:
	default:
		p.err = err
		close(p.started)
	}
	if p.shard.finish() {
		p.shard.end(p.engine.errorList(context.Background(), err))
	}
}

// message hands a value to the groups. Without a stream the values are numbered
// as they come.
func (p *tap) message(seq uint64, data []byte, cause *trace.Remote) {
	ev := p.event(seq, data)
	ev.Cause = cause
	if seq == 0 {
		ev.Seq = p.shard.pos + 1 // nobody else moves it
	}
	p.hand(ev)
}

func (p *tap) hand(ev event) {
	p.count++
	ev.nth = p.count
	p.shard.process(ev)
}

func (p *tap) lost() {
	ev := p.gap()
	ev.Seq = p.shard.pos + 1
	p.hand(ev)
}

// gap is the event that says that others may be missing.
func (p *tap) gap() event {
	return event{Event: resource.Event{Type: p.binding.String(), ID: p.subject}, err: errMissed}
}

var (
	errMissed = fault.New(fault.Unavailable, "messages may have been lost here; read the current state")
	errUnread = fault.Wrap(errUnfit, fault.Internal, "a message cannot be read")
	errLarge  = fault.New(fault.PayloadTooLarge, "a message is larger than %d bytes", service.MaxAnswer)
)

// event makes an event of a message. One that is no value of the field's type
// is an error, or has errors at the paths of what does not fit. It survives a
// panic: a foreign message must not end the process.
func (p *tap) event(seq uint64, data []byte) (ev event) {
	ev = event{Event: resource.Event{Type: p.binding.String(), ID: p.subject, Seq: seq}}
	defer func() {
		if r := recover(); r != nil {
			p.engine.log.LogAttrs(p.ctx, slog.LevelError, "a message could not be read", slog.String("field", ev.Type), slog.String("subject", p.subject),
				slog.Uint64("seq", seq), slog.String("panic", fmt.Sprint(r)), slog.String("stack", string(debug.Stack())))
			ev.Raw, ev.err = nil, errExecution
		}
	}()
	if len(data) > service.MaxAnswer {
		p.engine.unfit(p.ctx, p.binding, p.subject, fmt.Sprintf("it has %d bytes", len(data)))
		ev.err = errLarge
		return ev
	}
	value, wrong := p.engine.conform(data, p.typ)
	if wrong != "" {
		p.engine.unfit(p.ctx, p.binding, p.subject, wrong)
	}
	if ev.Raw = value; value == nil {
		ev.err = errUnread
	}
	return ev
}

// streamHistory is what the subscribers to a stream have missed.
type streamHistory struct{ tap *tap }

func (h *streamHistory) unread() bool { return false }

func (h *streamHistory) next(ctx context.Context, after, upto uint64) (events []event, reached uint64, err error) {
	p := h.tap
	release, err := take(ctx, p.engine.live.streamSlots)
	if err != nil {
		return nil, after, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, chunkTime) // others wait for the slot
	defer cancel()
	size := 0
	err = p.engine.options.Services.Missed(ctx, p.binding, p.subject, p.shard.log, after, upto, func(seq uint64, data []byte) error {
		if len(events) == maxChunk || size > maxChunkBytes {
			return errChunk
		}
		size += len(data)
		events = append(events, p.event(seq, data))
		return nil
	})
	switch {
	case err == nil:
		return events, max(after, upto), nil
	case len(events) > 0: // an error comes again when it is still there
		return events, events[len(events)-1].Seq, nil
	}
	return nil, after, err
}

package graphql

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tidings/fault"
	"tidings/internal/sleep"
	"tidings/resource"
)

// replay brings a member that is behind up to its shard, on a goroutine of its
// own, and leaves it to the shard then.
func (l *live) replay(e *Engine, m *member, bring func(context.Context) error) {
	if l.spawn(func(ctx context.Context) { l.run(ctx, e, m, bring) }) {
		return
	}
	var list []byte // what Close has left to be said, if it was faster
	if m.drop() {
		list = e.errorList(context.Background(), errStopping)
	}
	m.replayed(list)
}

// run is the replay's goroutine.
func (l *live) run(ctx context.Context, e *Engine, m *member, bring func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	if m.onLeave(cancel) {
		err = bring(ctx)
	}
	if m.resume != nil && ctx.Err() == nil {
		m.resume.err = err
		e.unresumed(ctx, m, err)
	}
	if err == nil || ctx.Err() != nil || !m.drop() {
		m.replayed(nil)
		return
	}
	m.replayed(e.errorList(ctx, err))
}

// unresumed tells the log, once a second at most, that a subscriber who came back
// with a cursor could not be brought up to the present.
func (e *Engine) unresumed(ctx context.Context, m *member, err error) {
	if err == nil {
		return
	}
	left, due := e.unresumedTold.line()
	if !due {
		return
	}
	f := fault.Of(err)
	e.log.LogAttrs(ctx, slog.LevelInfo, "a subscriber who came back could not be told what was missed", slog.String("op_name", short(m.group.op.def.Name)),
		slog.String("cursor", m.resume.cursor), slog.String("code", string(f.Code)), slog.Any("error", err), left)
}

// replayed is called when the replay calls the sink no more. What was to be said
// at the end, by it or by the shard, is said here.
func (m *member) replayed(list []byte) {
	m.shard.mu.Lock()
	m.gaveUpLocked()
	if m.replaying--; list == nil && m.replaying == 0 {
		list = m.last
	}
	m.shard.mu.Unlock()
	if list != nil {
		m.sink.End(list)
	}
}

const (
	// patience is how long a replay goes on while the log cannot be read:
	// longer than a cluster takes to elect a leader.
	patience = 30 * time.Second
	// breath is the pause between two attempts.
	breath = 250 * time.Millisecond
)

// persist catches up by step (catchUp or overtake), and begins again where it was
// when the log cannot be reached for a while: to the sink the subscription would
// be over for good.
func (e *Engine) persist(ctx context.Context, m *member, h history, at uint64, step func(context.Context, *member, history, uint64) (uint64, error)) error {
	since := time.Now()
	for {
		reached, err := step(ctx, m, h, at)
		if code := fault.Of(err); err == nil || ctx.Err() != nil || code.Code != fault.Unavailable && code.Code != fault.Timeout {
			return err
		}
		if reached > at {
			at, since = reached, time.Now()
		}
		if time.Since(since) > patience {
			return err
		}
		if err := sleep.For(ctx, breath); err != nil {
			return err
		}
	}
}

// catchUp hands the sink the events after at until none are missing that the
// shard has passed. Meanwhile the shard holds what it executes for the member:
// so nothing falls between the two, and a member that reads too slowly for its
// held results goes round again.
//
// It returns the position that the sink has reached.
func (e *Engine) catchUp(ctx context.Context, m *member, h history, at uint64) (uint64, error) {
	for {
		upto, here := m.behindAt()
		if !here {
			return at, nil
		}
		for first := true; at < upto || first || h.unread(); first = false {
			events, reached, err := h.next(ctx, at, upto)
			if err != nil {
				return at, err
			}
			for _, ev := range events {
				if here, err := e.give(ctx, m, ev); err != nil || !here {
					return at, err
				}
				at = ev.Seq
			}
			at = max(at, reached)
		}
		if pace(ctx, m.sink) != nil && ctx.Err() == nil {
			m.drop()
			return at, nil
		}
		var done bool
		if ctx.Err() == nil {
			at, done = m.upToDate(at)
		}
		if done || ctx.Err() != nil {
			return at, ctx.Err()
		}
	}
}

// give executes one event for the member alone. False: the sink takes no more.
func (e *Engine) give(ctx context.Context, m *member, ev event) (bool, error) {
	r := m.shard.executeFor(ctx, m.group, ev, nil)
	if r.failed {
		return false, errExecution
	}
	if r.skip {
		return true, nil
	}
	return m.take(ctx, r.payload, r.cursor)
}

// take hands a result to the sink of a member that is behind, as soon as it has
// room. False: it takes no more.
func (m *member) take(ctx context.Context, payload []byte, cursor string) (bool, error) {
	for {
		err := pace(ctx, m.sink)
		if ctx.Err() != nil {
			return false, ctx.Err() // left, or Close: that tells the sink
		}
		taken, full := false, false
		if err == nil {
			taken, full = m.attempt(payload, cursor)
		}
		switch {
		case full: // others have taken the room that they waited for, too
		case !taken:
			m.drop()
			return false, nil
		default:
			m.shard.engine.live.replayed.Add(1)
			m.shard.engine.meters.replayed.Add(1)
			if m.resume != nil {
				m.resume.given++
			}
			return true, nil
		}
	}
}

// attempt hands a result to a sink that is not to be cut off when it is full.
func (m *member) attempt(payload []byte, cursor string) (taken, full bool) {
	if t, ok := m.sink.(Trier); ok {
		return t.Try(payload, cursor)
	}
	return m.sink.Next(payload, cursor), false
}

// pace waits until the sink has room, if it can tell.
func pace(ctx context.Context, s Sink) error {
	if p, ok := s.(Pacer); ok {
		return p.Ready(ctx)
	}
	return ctx.Err()
}

// maxChunk is how many events a replay takes from the log at a time: few enough
// to keep while a slow sink takes them, enough to be worth the reading.
const (
	maxChunk      = 256
	maxChunkBytes = 1 << 20 // of a stream's messages, and one more
)

// errChunk ends the reading of a chunk that is full.
var errChunk = errors.New("the chunk is full")

// history is what a member has missed. It is used by one goroutine.
type history interface {
	// next returns the next events after a position, at most maxChunk, and the
	// position up to which they are all there are. It reaches upto or, when there
	// are more, the last of them.
	next(ctx context.Context, after, upto uint64) (events []event, reached uint64, err error)
	// unread reports whether it must be read on, wherever it has got to.
	unread() bool
}

// take takes one of the slots for reading.
func take(ctx context.Context, slots chan struct{}) (release func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// feedHistory is what a group's subscribers have missed.
type feedHistory struct {
	engine  *Engine
	sight   *resource.Sight
	typ, id string // of which changes; no id: of all of the type
	// past is the log's part of it, while that is being read: to its end, because
	// what is gone from one chunk may first show in another. It outlives an error:
	// the next attempt goes on where this one stopped.
	past *resource.Past
}

func (h *feedHistory) unread() bool { return h.past != nil }

func (h *feedHistory) next(ctx context.Context, after, upto uint64) (events []event, reached uint64, err error) {
	if h.past == nil && after > upto && after <= h.engine.feed.Now().Seq {
		return nil, after, nil
	}
	if h.past == nil && after <= upto {
		recent, err := h.engine.feed.Recent(after, upto)
		if err == nil {
			events, reached = h.chunk(recent, upto)
			return events, reached, nil
		}
		if !errors.Is(err, resource.ErrBehind) {
			return nil, after, err
		}
	}
	if h.past == nil {
		h.past = h.engine.feed.Past(h.typ, h.id, after, h.sight)
	}
	release, err := take(ctx, h.engine.live.slots)
	if err != nil {
		return nil, after, err
	}
	defer release()
	reached, err = h.past.Read(ctx, func(ev resource.Event) error {
		if len(events) == maxChunk {
			return errChunk
		}
		events = append(events, event{Event: ev})
		return nil
	})
	if errors.Is(err, errChunk) || len(events) > 0 && err != nil {
		return events, reached, nil // an error comes again when it is still there
	}
	if err == nil {
		h.past = nil
	}
	return events, reached, err
}

// chunk takes the first of the events that are asked for.
func (h *feedHistory) chunk(recent []resource.Event, upto uint64) (events []event, reached uint64) {
	for _, ev := range recent {
		if ev.Type != h.typ || h.id != "" && ev.ID != h.id {
			continue
		}
		if len(events) == maxChunk {
			return events, events[maxChunk-1].Seq
		}
		events = append(events, event{Event: ev})
	}
	return events, upto
}

// onLeave lets leave end the replay; false when the member has left already.
func (m *member) onLeave(cancel context.CancelFunc) bool {
	m.shard.mu.Lock()
	defer m.shard.mu.Unlock()
	m.cancel = cancel
	return m.index >= 0
}

// behindAt returns the shard's position, after which it holds what it executes
// for the member. False: the member has left.
func (m *member) behindAt() (upto uint64, here bool) {
	m.shard.mu.Lock()
	defer m.shard.mu.Unlock()
	m.held, m.bytes, m.full, m.after = nil, 0, false, 0
	return m.shard.pos, m.index >= 0
}

// upToDate hands over what was held beyond at, and leaves the member to the
// shard. False: too much has come, the replay must go on after reached.
func (m *member) upToDate(at uint64) (reached uint64, done bool) {
	m.shard.mu.Lock()
	defer m.shard.mu.Unlock()
	if m.index < 0 {
		return at, true
	}
	if m.full {
		return at, false
	}
	for _, r := range m.held {
		if r.seq <= at {
			continue
		}
		taken, full := m.attempt(r.payload, r.cursor)
		if full {
			return at, false
		}
		if !taken {
			m.shard.removeLocked(m)
			return at, true
		}
		at, m.nth = r.seq, r.nth
		if m.resume != nil {
			m.resume.given++
		}
		m.shard.engine.live.deliveries.Add(1)
	}
	m.held, m.bytes, m.behind, m.after = nil, 0, false, at
	m.caughtUpLocked()
	return at, true
}

// drop ends the membership; false when it had ended before.
func (m *member) drop() bool {
	m.shard.mu.Lock()
	defer m.shard.mu.Unlock()
	here := m.index >= 0
	m.shard.removeLocked(m)
	return here
}

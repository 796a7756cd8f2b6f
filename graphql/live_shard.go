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
)

// shard executes the events of its groups. Its lock is above those of sinks
// and below the feed's, which is never called while it is held.
type shard struct {
	engine *Engine
	ctx    context.Context // ends the goroutine, and an Offer that waits
	queue  chan event      // of the feed's; nil where a tap calls process
	log    string          // that cursors are positions of; empty: there are none
	past   func(*group) history
	recall func(*member) history // what the shard remembers; nil: it need not, the feed does
	idle   func()                // ends what feeds the shard when nobody is left; nil: it goes on

	mu     sync.Mutex
	pos    uint64 // every event up to here was delivered to those who were members then
	groups map[string]*group
	index  index
	holds  int // subscribers who are on their way into a group; with idle
	ended  bool
	newest *newest // what those are told later who fell behind; nil: nobody needs it
}

// event is what a shard executes: a change of a record, or a message from the
// bus, which has the field as its type and the subject as its id.
type event struct {
	resource.Event
	err  error  // of a message: why it has no value
	nth  uint64 // of a message: its number among all that were heard; 0: it was read
	left int    // of a message: how many before it are not told
}

// group is all subscribers who get the same results.
type group struct {
	key     string
	shape   string // see shapeOf
	op      *operation
	who     auth.Principal  // the view of each of them
	sight   *resource.Sight // nil: of what is fed from the bus
	topics  []topic
	members []*member
}

// member is one subscriber. The shard's lock guards all but sink and group.
type member struct {
	sink  Sink
	shard *shard
	group *group
	index int // in group.members; -1 when it has left

	begun *trace.Remote // the span of its beginning; nil where that is not recorded
	first []byte        // the result that comes before all others; nil: none
	after uint64        // it has everything up to here
	nth   uint64        // the last message that it was told of, or that another stands for, while it is behind
	// behind: a replay serves the sink; what is executed meanwhile is held.
	behind bool
	held   []result
	bytes  int  // of the payloads held
	full   bool // more than can be held has come: the replay must go on
	cancel context.CancelFunc
	// resume counts what becomes of a cursor; nil: it came with none, or is over.
	resume *resumption
	// skipped is how many changes were left out of which the sink was not told so
	// yet; the replay's own.
	skipped int
	// replaying: so many replays' goroutines are not over, of which one may still
	// call the sink. When all is over meanwhile, the last says the last words.
	replaying int
	last      []byte
}

// result is one event executed for a group.
type result struct {
	seq     uint64
	nth     uint64 // of the event
	cursor  string
	payload []byte      // the errors when it failed
	skip    bool        // the group may not see the event
	told    bool        // it is that of another group
	failed  bool        // executing it went wrong beyond what a payload can say
	span    *trace.Span // of the delivery; nil as a rule
	at      time.Time   // of the event, when one of the members is told it; else zero
}

// The bounds of what is held for one member: what a sink's queue takes at once.
const (
	maxHeld      = 256
	maxHeldBytes = 256 << 10
)

// queueLength is how far a shard may fall behind before the feed waits.
const queueLength = 1024

var _ resource.Watcher = (*shard)(nil)

func newShard(e *Engine, ctx context.Context) *shard {
	return &shard{
		engine: e, ctx: ctx,
		groups: map[string]*group{},
		index:  newIndex(),
	}
}

// Offer implements resource.Watcher. It waits while the queue is full.
func (s *shard) Offer(ev resource.Event) {
	select {
	case s.queue <- event{Event: ev}:
	case <-s.ctx.Done():
	}
}

// run executes events until the shard's context ends, first those that were
// missed while it joined.
func (s *shard) run(missed []resource.Event) {
	for _, ev := range missed {
		s.process(event{Event: ev})
	}
	for {
		select {
		case ev := <-s.queue:
			s.process(ev)
		case <-s.ctx.Done():
			return
		}
	}
}

// process executes the event once for each group that listens to it, and hands
// the result to its members. The lock is free during execution; groups that
// came into being meanwhile get their own turn before the position moves.
func (s *shard) process(ev event) {
	var results map[*group]result
	var told map[telling][]byte
	for {
		todo := s.deliver(ev, results)
		if todo == nil {
			return
		}
		if results == nil {
			results = make(map[*group]result, len(todo))
		}
		if told == nil && len(todo) > 1 {
			told = make(map[telling][]byte)
		}
		for _, g := range todo {
			r := s.tracedFor(g, ev, told)
			results[g] = r
			if !r.told {
				s.engine.live.executions.Add(1)
				s.engine.meters.executions.Add(1)
			}
		}
	}
}

// deliver hands the results over and moves the position when there is one for
// each group that listens; otherwise it returns the groups without.
func (s *shard) deliver(ev event, results map[*group]result) (todo []*group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	listening := s.index.listening(ev.Event)
	for _, g := range listening {
		if _, done := results[g]; !done {
			todo = append(todo, g)
		}
	}
	if todo != nil {
		return todo
	}
	s.pos = ev.Seq
	dated := ev.Time
	for _, g := range listening {
		r := results[g]
		if !r.skip && len(g.members) > 0 {
			r.at, dated = dated, time.Time{}
		}
		s.handOut(g, r)
	}
	if s.newest != nil {
		s.newest.add(ev)
	}
	return nil
}

func (s *shard) handOut(g *group, r result) {
	if r.skip {
		return
	}
	defer r.delivered(len(g.members))
	date := -1
	if !r.at.IsZero() {
		date = int(r.seq % uint64(len(g.members)))
	}
	for i := len(g.members) - 1; i >= 0; i-- { // from the end: remove puts the last in its place
		m := g.members[i]
		if i == date && !m.behind && r.seq > m.after {
			m.happened(r.at)
		}
		switch {
		case r.seq <= m.after:
		case m.behind:
			m.hold(r)
		case r.failed:
			s.removeLocked(m)
			m.sink.End(r.payload)
		case !s.offer(m, r):
			s.removeLocked(m)
		case m.behind: // since now
		default:
			s.engine.live.deliveries.Add(1)
		}
	}
}

// happened tells the sink when what it is about to get has happened.
func (m *member) happened(at time.Time) {
	if d, ok := m.sink.(Dater); ok {
		d.Happened(at)
	}
}

func (m *member) hold(r result) {
	if m.full || r.failed || len(m.held) == maxHeld || m.bytes+len(r.payload) > maxHeldBytes {
		m.full, m.held, m.bytes = true, nil, 0
		return
	}
	m.held = append(m.held, r)
	m.bytes += len(r.payload)
}

// add makes m a member of the group with the key of like, which is made if need
// be; false when the shard has ended.
func (s *shard) add(m *member, like group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	g := s.groups[like.key]
	if g == nil {
		g = &like
		g.topics = topicsOf(g)
		s.groups[g.key] = g
		s.index.add(g)
		s.engine.live.groups.Add(1)
	}
	m.shard, m.group, m.index = s, g, len(g.members)
	if f, ok := m.sink.(Follower); ok && s.log != "" {
		f.Follow(m.tell)
	}
	if !m.behind {
		m.after = max(m.after, s.pos)
		if st, ok := m.sink.(Starter); ok && s.log != "" {
			st.Start(m.reachedLocked())
		}
	}
	if m.first != nil {
		m.sink.Next(m.first, "") // one that takes no more says so again
		m.first = nil
	}
	if m.behind {
		m.replaying = 1
	}
	g.members = append(g.members, m)
	s.engine.live.sinks.Add(1)
	return true
}

// leave ends the membership, and the replay when there is one.
func (m *member) leave() {
	s := m.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := m.sink.(Leaver); ok && s.log != "" && m.index >= 0 && !m.behind {
		l.Left(m.reachedLocked())
	}
	s.removeLocked(m)
}

// tell tells the sink how far it has come, where that is known.
func (m *member) tell() {
	m.shard.mu.Lock()
	defer m.shard.mu.Unlock()
	if f, ok := m.sink.(Follower); ok && m.index >= 0 && !m.behind {
		f.Reached(m.reachedLocked())
	}
}

// reachedLocked is the cursor up to which a member that is not behind has all.
func (m *member) reachedLocked() string {
	return resource.Position{Log: m.shard.log, Seq: max(m.after, m.shard.pos)}.String()
}

func (s *shard) removeLocked(m *member) {
	if m.index < 0 {
		return
	}
	g := m.group
	last := len(g.members) - 1
	g.members[m.index] = g.members[last]
	g.members[m.index].index = m.index
	g.members[last] = nil
	g.members = g.members[:last]
	m.index, m.held = -1, nil
	if m.cancel != nil {
		m.cancel()
	}
	s.engine.live.sinks.Add(-1)
	if last > 0 {
		return
	}
	delete(s.groups, g.key)
	s.index.remove(g)
	s.engine.live.groups.Add(-1)
	s.idleLocked()
}

// hold keeps a shard with idle from ending, until release; false when it has
// ended.
func (s *shard) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.holds++
	return true
}

func (s *shard) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds--
	s.idleLocked()
}

func (s *shard) idleLocked() {
	if s.idle != nil && s.holds == 0 && len(s.groups) == 0 {
		s.ended = true
		s.idle()
	}
}

// finish lets nobody in any more, and reports whether anybody is there.
func (s *shard) finish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return len(s.groups) > 0
}

// end tells every member that it is over. Nothing is processed any more.
func (s *shard) end(list []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, g := range s.groups {
		for len(g.members) > 0 {
			m := g.members[len(g.members)-1]
			s.removeLocked(m)
			if m.replaying > 0 {
				m.last = list
				continue
			}
			m.sink.End(list)
		}
	}
}

// errLost is for those whom this process could not tell of a change.
var errLost = fault.New(fault.CursorExpired, "some changes are no longer kept and could not be told; read the current state and subscribe without a cursor")

var errExecution = fault.New(fault.Internal, "internal error")

// executeFor executes an event for a group, unless a group like it was told
// already. It survives a panic: the goroutine serves many strangers.
func (s *shard) executeFor(ctx context.Context, g *group, ev event, told map[telling][]byte) (r result) {
	e := s.engine
	r.seq, r.nth = ev.Seq, ev.nth
	defer func() {
		if p := recover(); p != nil {
			e.fell(ctx, ev, p)
			r.failed, r.payload = true, e.errorList(ctx, errExecution)
		}
	}()
	r.cursor = s.cursor(ev.Seq)
	if g.op.root.binding != nil {
		r.payload = e.said(ctx, g.who, g.op, ev, r.cursor, nil)
		return r
	}
	if ev.Lost {
		r.failed, r.payload = true, e.errorList(ctx, errLost)
		return r
	}
	change, seen := g.sight.See(ev.Event)
	if r.skip = !seen; r.skip {
		return r
	}
	t := telling{g.shape, change.Kind, change.Raw == nil}
	if r.payload, r.told = told[t]; r.told {
		return r
	}
	r.payload = e.event(ctx, g.who, g.op, change)
	if told != nil {
		told[t] = r.payload
	}
	return r
}

// fell tells the log of an event that made its execution panic.
func (e *Engine) fell(ctx context.Context, ev event, panicked any) {
	e.log.LogAttrs(ctx, slog.LevelError, "an event could not be executed",
		slog.Uint64("seq", ev.Seq), slog.String("panic", fmt.Sprint(panicked)), slog.String("stack", string(debug.Stack())))
}

// cursor is that of a position; empty where there are none.
func (s *shard) cursor(seq uint64) string {
	if s.log == "" {
		return ""
	}
	return resource.Position{Log: s.log, Seq: seq}.String()
}

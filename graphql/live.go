package graphql

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/trace"
	"tidings/quota"
	"tidings/resource"
	"tidings/schema"
)

// Sink takes the results of one subscription. Its methods never block. They are
// called from the engine's goroutines, but never two at a time, and must not
// call what Subscribe returned: the engine's locks are held meanwhile.
type Sink interface {
	// Next takes one whole execution result with its cursor (empty for sources
	// that have none). The payload is shared with other sinks: it is never
	// modified. False means that the sink takes no more.
	Next(payload []byte, cursor string) bool
	// End says that nothing follows: nil when the source has ended, otherwise a
	// JSON array of GraphQL errors.
	End(errors []byte)
}

// Pacer is what a Sink may implement to set the pace of a replay or of a
// function: Ready returns when the sink has room for more, or an error when it
// takes no more or ctx has ended. Live results do not wait for it.
type Pacer interface {
	Ready(ctx context.Context) error
}

// Starter is what a Sink may implement to learn where a subscription without a
// cursor begins: it gets everything after the cursor that Start takes, so that
// a client which is cut off before the first result can resume too. Start is
// called once, before every Next.
type Starter interface {
	Start(cursor string)
}

// Leaver is what a Sink may implement to learn how far it had come when it was
// stopped: Left is called while stop is, at most once, with a cursor up to which
// the sink has everything that it was to get. It is not called for a sink that
// is still catching up, nor for one of a function: for these it is the cursor of
// the last result.
type Leaver interface {
	Left(cursor string)
}

// Follower is what a Sink may implement to learn how far it has come while there
// is nothing for it. Follow is called once, before every Next, for a
// subscription that has cursors. Whenever ask is called, from then on, it calls
// Reached with a cursor up to which the sink has everything that it was to get;
// it does not while the sink is catching up, or has been stopped. ask must not be
// called by the sink's methods, nor with a lock held that they take.
type Follower interface {
	Follow(ask func())
	Reached(cursor string)
}

// Dater is what a Sink may implement to learn when a change happened that it is
// about to be told of live: Happened is called right before Next or Try, with the
// time of the log, for one subscriber of each event that a shard hands out.
type Dater interface {
	Happened(at time.Time)
}

// Subscribe begins a subscription whose results go to s, until stop is called,
// s takes no more, or s.End says that it is over. The caller must call stop,
// which waits for nothing: a Next that is under way may still arrive. When the
// request is refused, failed says why and s is not called.
//
// after is the cursor of the last result that the client has seen: what it has
// missed since comes first, from the log if need be, in order and once, as fast
// as s takes it. Empty means from now on. A malformed cursor is refused with
// BAD_USER_INPUT, one of another log with CURSOR_EXPIRED; when it turns out
// later that events after it are gone, s.End says CURSOR_EXPIRED. A
// subscription to a function, or to a subject that no stream keeps, has no
// cursors and ignores after.
//
// With the argument `snapshot: true` and without a cursor, the records as they
// are come first, then their changes. With a cursor it goes on there; where it
// would be CURSOR_EXPIRED, the snapshot begins anew.
//
// Subscribers of equal operations whom no rule on the way tells apart form one
// group: each event is executed and encoded once for all of them, as a caller
// of whom only that is known by which the rules decide.
//
// ctx is for functions: their values flow until it ends; and for what is fed from
// the bus, whose beginning it waits for (5 s at most). The first call starts
// the engine's goroutines; Close ends them.
func (e *Engine) Subscribe(ctx context.Context, who auth.Principal, r Request, after string, s Sink) (stop func(), failed *Response) {
	if r.Moved { // it has begun before
		return e.join(ctx, nil, who, r, after, s)
	}
	ctx, span := e.tracing(ctx)
	defer func() {
		began(span, failed)
		e.meters.subscribed(failed, after != "")
	}()
	return e.join(ctx, span, who, r, after, s)
}

func (e *Engine) join(ctx context.Context, span *trace.Span, who auth.Principal, r Request, after string, s Sink) (stop func(), failed *Response) {
	op, failed := e.admit(ctx, who, r)
	if failed != nil {
		return nil, failed
	}
	op.moved = r.Moved
	e.known(span, op)
	if op.kind != ast.Subscription {
		return nil, e.failure(gqlerror.List{refuse(op.def.Position, fault.BadRequest, "Only a subscription can be subscribed to.")})
	}
	if err := e.live.start(e); err != nil {
		return nil, e.refusal(ctx, err)
	}
	if err := op.allows(who); err != nil {
		return nil, e.failure(gqlerror.List{err})
	}
	switch {
	case op.root.binding != nil:
		return e.listen(ctx, who, op, after, s)
	case op.root.function != nil:
		return e.call(ctx, who, op, s)
	}
	stop, err := e.watch(ctx, who, op, after, s)
	if err != nil {
		return nil, e.refusal(ctx, err)
	}
	return stop, nil
}

// watch makes s a member of a group that is told of the changes of a resource.
func (e *Engine) watch(ctx context.Context, who auth.Principal, op *operation, after string, s Sink) (stop func(), err error) {
	r := op.root.generated.Resource
	if rule := r.Auth[schema.Read]; !rule.Roles.Has(schema.Anyone) && !who.May(rule, who.Subject) {
		return nil, fault.New(fault.Forbidden, "you may not read %s", r.Name)
	}
	view := op.view(who)
	filter, err := op.filter()
	if err != nil {
		return nil, err
	}
	sight, err := resource.NewSight(r, view, filter)
	if err != nil {
		return nil, err
	}
	m, at, anew, err := e.comer(op, after)
	if err != nil {
		return nil, err
	}
	m.sink, m.begun = s, e.options.Tracer.Here(ctx)
	if !e.live.join(group{op: op, who: view, sight: sight}, m) {
		return nil, errStopping
	}
	if client := quota.Client(ctx); m.behind {
		e.live.replay(e, m, func(ctx context.Context) error {
			return e.bring(quota.WithClient(ctx, client), who, m, at, anew)
		})
	}
	return m.leave, nil
}

// comer is a member before its first event. One that is behind is to be brought up to
// the present, from after the position at, or anew, which is with a snapshot.
func (e *Engine) comer(op *operation, after string) (m *member, at uint64, anew bool, err error) {
	m, anew = &member{}, op.restarts(after)
	switch {
	case anew:
		m.behind = true
	case after == "":
		m.after = e.feed.Now().Seq
	default:
		m.behind = true
		at, err = e.position(after)
		anew = op.wantsSnapshot() && fault.Is(err, fault.CursorExpired)
		if err != nil && !anew {
			return nil, 0, false, err
		}
	}
	if m.behind && after != "" && !op.moved {
		m.resume = &resumption{cursor: after}
	}
	return m, at, anew, nil
}

func (e *Engine) position(cursor string) (uint64, error) {
	if strings.HasSuffix(cursor, unfinished) {
		return 0, errUnfinished
	}
	p, err := resource.ParsePosition(cursor)
	if err != nil {
		return 0, err
	}
	if p.Log != e.logID() {
		return 0, fault.New(fault.CursorExpired, "the cursor belongs to another log; read the current state and subscribe without a cursor, or with `snapshot: true`")
	}
	return p.Seq, nil
}

func (e *Engine) refusal(ctx context.Context, err error) *Response {
	return e.failure(gqlerror.List{e.told(ctx, err)})
}

// errorList is what End takes.
func (e *Engine) errorList(ctx context.Context, err error) []byte {
	return appendErrors(nil, gqlerror.List{e.told(ctx, err)})
}

// view is all of the caller that the operation's answer depends on. Groups are
// executed as their view, so that nothing else can leak between subscribers.
func (op *operation) view(who auth.Principal) auth.Principal {
	v := auth.Principal{Roles: who.Roles & op.rules()}
	if op.rules().Has(schema.Owner) {
		v.Subject = who.Subject
	}
	return v
}

// newKey is the same for all subscribers who get the same results.
func (g *group) newKey() string {
	return g.op.key() + string(rune(g.who.Roles)) + g.who.Subject + g.op.priceTag()
}

// LiveStats is what the live subscriptions have and had to do; the totals
// count from the engine's start.
type LiveStats struct {
	Groups     int    // distinct subscriptions
	Sinks      int    // subscribers to resources and to the bus, in all groups
	Executions uint64 // events executed for a group
	Deliveries uint64 // results handed to a sink from such executions
	Replayed   uint64 // results handed to a sink that was catching up
	Skipped    uint64 // changes left out for slow sinks, which got a later state
}

// Stats returns the counts of this moment.
func (e *Engine) Stats() LiveStats {
	l := &e.live
	return LiveStats{
		Groups: int(l.groups.Load()), Sinks: int(l.sinks.Load()),
		Executions: l.executions.Load(), Deliveries: l.deliveries.Load(), Replayed: l.replayed.Load(), Skipped: l.skipped.Load(),
	}
}

// Close ends all subscriptions with UNAVAILABLE and waits for the goroutines
// that Subscribe started. It must be called while the feed still runs or after
// it has ended, and may be called twice.
func (e *Engine) Close() { e.live.close(e) }

// live is the engine's running subscriptions. With slots it is ready: nothing
// runs before the first one.
//
// Each shard has its groups, a bounded queue of events and one goroutine that
// executes them, so that groups are executed in parallel and one group's events
// in order. What is fed from the bus has a shard for each subject, without a
// queue, on the goroutine that hears it. The feed waits for a shard whose queue is full: a process that
// cannot execute as fast as the log grows reads the log more slowly, and loses
// nothing.
type live struct {
	mu     sync.Mutex
	ctx    context.Context // of the goroutines, which outlive the calls that cause them
	cancel context.CancelFunc
	closed bool
	shards []*shard
	seed   maphash.Seed
	slots  chan struct{} // held while reading the log for a replay
	wg     sync.WaitGroup
	taps   taps

	streamSlots chan struct{} // the same, for streams: one that is away delays no replay of records

	groups, sinks                    atomic.Int64
	executions, deliveries, replayed atomic.Uint64
	skipped                          atomic.Uint64
}

// maxReads is how many replays read the log at a time; the others wait. A
// replay holds no slot while it waits for its sink. What is on its way from the
// log for one of them is up to 4 MiB, and a server gives up a connection with
// 64 MiB on its way: the live path and the commands share it.
const maxReads = 4

var errStopping = fault.New(fault.Unavailable, "the server is stopping; connect again")

// start makes the shards go, once.
func (l *live) start(e *Engine) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errStopping
	}
	if l.ctx != nil {
		return nil
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.seed = maphash.MakeSeed()
	for range e.shardCount() {
		if err := l.startShard(e); err != nil {
			l.stop(e)
			l.shards, l.ctx = nil, nil
			return err
		}
	}
	return nil
}

// shardCount is none where there are no records.
func (e *Engine) shardCount() int {
	if e.feed == nil {
		return 0
	}
	return runtime.GOMAXPROCS(0)
}

func (l *live) startShard(e *Engine) error {
	s := newShard(e, l.ctx)
	s.log, s.queue = e.logID(), make(chan event, queueLength)
	s.past = func(g *group) history { return &feedHistory{engine: e, sight: g.sight, typ: g.typ(), id: g.id()} }
	s.pos = e.feed.Now().Seq
	missed, err := e.feed.Join(s.pos, s)
	if err != nil {
		return fmt.Errorf("join the feed: %w", err)
	}
	l.shards = append(l.shards, s)
	l.wg.Go(func() { s.run(missed) })
	return nil
}

// stop is called with mu held.
func (l *live) stop(e *Engine) {
	l.cancel()
	for _, s := range l.shards {
		e.feed.Leave(s)
	}
	l.wg.Wait()
}

func (l *live) close(e *Engine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.ctx == nil {
		return
	}
	l.stop(e)
	list := e.errorList(context.Background(), errStopping)
	for _, s := range l.shards {
		s.end(list)
	}
}

// spawn runs f on a goroutine that Close waits for, with a context that ends
// then; false when it is too late.
func (l *live) spawn(f func(ctx context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	ctx := l.ctx
	l.wg.Go(func() { f(ctx) })
	return true
}

// join makes m a member of the group that is like g; false when it is too late.
func (l *live) join(g group, m *member) bool {
	g.key = g.newKey()
	g.shape = shapeOf(&g)
	return l.shardOf(g.key).add(m, g)
}

func (l *live) shardOf(key string) *shard {
	return l.shards[maphash.String(l.seed, key)%uint64(len(l.shards))]
}

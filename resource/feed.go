package resource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/proc"
	"tidings/schema"
	"tidings/view"
)

// FeedOptions tunes a feed. The zero value is good.
type FeedOptions struct {
	// Ring is how many recent events are kept for those who come back soon.
	// Zero means 8,192; their records take 64 MiB at most.
	Ring int
	// FillAfter is how many messages a log must hold for an empty view to be
	// built at once from the newest of each record, and not from one message
	// after the other. Zero means 20,000.
	FillAfter uint64
	// Metrics counts what is read and left out; nil: nothing does.
	Metrics *proc.Metrics
	// Snapshots are looked for when such a view is built; nil: there are none.
	Snapshots *Snapshots
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Feed is a process's one reader of the log: every change is applied to the
// view, then offered to the watchers.
type Feed struct {
	bus       *bus.Bus
	model     *schema.Model
	view      Sink
	log       *slog.Logger
	left      *leftOut
	fillAfter uint64
	snapshots *Snapshots
	closings  *closings // what others are about to delete

	applying sync.Mutex // one changes the view
	mu       sync.Mutex
	trouble  error    // what keeps the view from being read; nil as a rule
	now      uint64   // the view shows the log up to here
	waiting  []waiter // for positions that it does not show yet
	ring     ring
	filled   uint64 // up to here the view may show more than its position says
	watchers map[Watcher]struct{}
	ready    chan struct{} // closed when the view first caught up
	next     *Feed         // which follows this one; nil as a rule
}

// NewFeed returns a feed that will fill v. Run makes it go.
func NewFeed(b *bus.Bus, m *schema.Model, v Sink, o FeedOptions) *Feed {
	f := &Feed{
		bus: b, model: m, view: v, log: o.Logger,
		now:       v.Position(),
		fillAfter: cmp.Or(o.FillAfter, 20_000),
		snapshots: o.Snapshots,
		closings:  newClosings(b.Subjects()),
		watchers:  map[Watcher]struct{}{},
		ready:     make(chan struct{}),
	}
	if o.Ring == 0 {
		o.Ring = 8192
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.left = newLeftOut("feed", o.Metrics, f.log)
	f.ring = ring{events: make([]Event, o.Ring), floor: v.Position()}
	return f
}

// Run reads the log until ctx ends. It returns nil then, and otherwise the
// error that stopped it; the process cannot serve without it.
func (f *Feed) Run(ctx context.Context) error {
	last, err := f.begin(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("feed: %w", err)
	}
	f.caughtUp(last)
	in := newInbox()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.apply(ctx, in, last) })
	g.Go(func() error { return f.watchDamage(ctx) })
	g.Go(func() error {
		return f.bus.Follow(ctx, f.Now().Seq, func(m bus.Message) error {
			f.closings.hear(m)
			return in.put(ctx, m)
		})
	})
	err = g.Wait()
	if errors.Is(err, bus.ErrLogReplaced) {
		// The view shows what the log does not hold.
		return errors.Join(fmt.Errorf("feed: %w; the view is built anew at the next start", err), f.view.Condemn())
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("feed: %w", err)
	}
	return nil
}

// begin learns from where the log is to be read, after it has filled an empty
// view, and returns where the log ends: the view is ready when it shows that.
// Nobody was told of anything yet.
func (f *Feed) begin(ctx context.Context) (last uint64, err error) {
	if _, last, err = f.bus.State(ctx); err != nil {
		return 0, fmt.Errorf("read the log's state: %w", err)
	}
	position, err := f.view.Begin(ctx)
	if err != nil {
		return 0, err
	}
	if position == 0 && last >= f.fillAfter {
		position, last = f.fillEmpty(ctx, last)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.ring.floor = position, position
	return last, ctx.Err()
}

// apply moves what waits in the inbox into the view, as one transaction, and
// then to the watchers.
func (f *Feed) apply(ctx context.Context, in *inbox, target uint64) error {
	for {
		messages := in.take(ctx)
		if messages == nil {
			return nil
		}
		if err := f.applyAll(ctx, messages); err != nil {
			return err
		}
		f.caughtUp(target)
	}
}

func (f *Feed) applyAll(ctx context.Context, messages []bus.Message) error {
	f.applying.Lock()
	defer f.applying.Unlock()
	events, changes := make([]Event, 0, len(messages)), make([]view.Change, 0, len(messages))
	for _, m := range messages {
		if e, ok := f.event(m); !ok {
			f.leave(m)
		} else {
			e.Prev = f.left.before(e.Prev)
			events = append(events, e)
			changes = append(changes, e.change())
		}
	}
	upto := messages[len(messages)-1].Seq
	if err := f.applyChanges(ctx, upto, changes); err != nil {
		return err
	}
	for i, c := range changes {
		if events[i].Before = c.Before; c.Lost {
			f.lookBack(ctx, &events[i])
		}
	}
	if err := f.recall(ctx, events); err != nil {
		return err
	}
	for w := range f.record(events, upto) {
		for _, e := range events {
			w.Offer(e)
		}
	}
	return nil
}

// event reads a message of the log. What is no change of a resource of this
// schema (a reservation, a type that the schema no longer has) is none, and
// neither is what is malformed.
func (f *Feed) event(m bus.Message) (Event, bool) {
	typ, id, ok := f.bus.Subjects().ParseRecord(m.Subject)
	r := f.model.Resource(typ)
	if !ok || r == nil {
		return Event{}, false
	}
	e := Event{Seq: m.Seq, Kind: Kind(m.Header.Get(headerKind)), Type: typ, ID: id, Raw: m.Data, Time: m.Time, Prev: m.Prev}
	if e.flaw() != "" {
		return Event{}, false
	}
	if e.Kind != Deleted {
		e.Raw = complete(r, e.Raw)
	}
	if from := f.bus.Tracer().Origin(m.Header); from.Sampled() {
		e.Cause = from
	}
	return e, true
}

func (e Event) change() view.Change {
	c := view.Change{Seq: e.Seq, Type: e.Type, ID: e.ID, Raw: e.Raw, Time: e.Time, Look: e.Kind != Created}
	if e.Kind == Deleted {
		c.Raw = nil
	}
	return c
}

// record puts the events into the ring, moves the position and wakes those who
// wait for it. It returns the watchers of that moment: one who joins later has
// found these events in the ring.
func (f *Feed) record(events []Event, upto uint64) map[Watcher]struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range events {
		events[i].Lost = f.ring.add(events[i]) || events[i].Lost
	}
	f.now = upto
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool {
		if w.seq > upto {
			return false
		}
		close(w.shown)
		return true
	})
	if len(events) == 0 {
		return nil
	}
	return maps.Clone(f.watchers)
}

// caughtUp opens Ready once the view shows the log up to target.
func (f *Feed) caughtUp(target uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now < target {
		return
	}
	select {
	case <-f.ready:
	default:
		close(f.ready)
	}
}

// Ready is closed once the view has shown everything that was in the log when
// Run began.
func (f *Feed) Ready() <-chan struct{} { return f.ready }

// Now returns the position that the view shows.
func (f *Feed) Now() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Position{Log: f.bus.LogID(), Seq: f.now}
}

// Template is what traces call the subjects that changes of a type come on.
func (f *Feed) Template(typ string) string { return f.bus.Subjects().Template(typ) }

// Succeed says that next is about to take this feed's place: from now on those
// who wait for a position wait for both, so that what was answered here is also
// seen there.
func (f *Feed) Succeed(next *Feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = next
}

// waiter waits for a position.
type waiter struct {
	seq   uint64
	shown chan struct{} // closed when the view shows it
}

// waitFor returns nil when the view shows seq.
func (f *Feed) waitFor(ctx context.Context, seq uint64) error {
	return f.waitUntil(ctx, seq, nil)
}

// waitUntil gives up when there is something on a channel, too. What comes after
// this feed must show seq as well.
func (f *Feed) waitUntil(ctx context.Context, seq uint64, over <-chan time.Time) error {
	for ; f != nil; f = f.following() {
		shown := f.shows(seq)
		if shown == nil {
			continue
		}
		select {
		case <-shown:
		case <-ctx.Done():
			f.forget(shown)
			return fault.Of(ctx.Err())
		case <-over:
			f.forget(shown)
			return fault.Of(context.DeadlineExceeded)
		}
	}
	return nil
}

func (f *Feed) following() *Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// shows returns what is closed when the view shows seq; nil: it does.
func (f *Feed) shows(seq uint64) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now >= seq {
		return nil
	}
	w := waiter{seq, make(chan struct{})}
	f.waiting = append(f.waiting, w)
	return w.shown
}

// forget takes out who does not wait any more.
func (f *Feed) forget(shown chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool { return w.shown == shown })
}

package graphql

import (
	"cmp"
	"context"
	"slices"

	"tidings/resource"
	"tidings/schema"
)

// Trier is what a Sink may implement so that it is not cut off when it is full
// while it catches up, nor when the subscription may leave out what is past
// (onSlow: LATEST). After a Try that was full, Ready waits for that much.
type Trier interface {
	// Try is Next, but that it takes nothing, and says so, when the sink has no
	// room for the moment.
	Try(payload []byte, cursor string) (taken, full bool)
}

// latest reports whether its members may be told of the newest state of a
// record instead of each change, or of the newest message instead of each.
func (g *group) latest() bool {
	switch root := g.op.root; {
	case root.generated != nil:
		return root.generated.OnSlow == schema.SlowLatest
	case root.binding != nil:
		return root.binding.OnSlow == schema.SlowLatest
	}
	return false
}

// try hands a result to the sink. Full: it had no room, and may be left behind.
func (m *member) try(r result) (taken, full bool) {
	if m.group.latest() {
		return m.attempt(r.payload, r.cursor)
	}
	return m.sink.Next(r.payload, r.cursor), false
}

// offer hands a live result to a member's sink; false when it takes no more.
func (s *shard) offer(m *member, r result) bool {
	taken, full := m.try(r)
	if full {
		s.lag(m, r)
	}
	return taken || full
}

// lag leaves a member behind that has everything before a result. Nothing is
// kept for it alone: when its sink has room again, what happened meanwhile is
// looked up, in the log or in what the shard remembers for all who are behind. A
// goroutine calls it that is waited for.
func (s *shard) lag(m *member, r result) {
	m.behind, m.full, m.held = true, true, nil
	m.replaying++
	h, forget := s.past(m.group), func() {}
	if s.recall != nil {
		m.nth = r.nth - 1
		s.remember(m.group.op.root.binding)
		h, forget = s.recall(m), s.forget
	}
	e := s.engine
	e.live.wg.Go(func() {
		defer forget()
		e.live.run(s.ctx, e, m, func(ctx context.Context) error { return e.persist(ctx, m, h, r.seq-1, e.overtake) })
	})
}

// overtake hands the sink the newest state of each record that changed after a
// position, whenever it has room, until it has come up to the shard. The first
// result after a gap says how many changes were left out.
func (e *Engine) overtake(ctx context.Context, m *member, h history, at uint64) (uint64, error) {
	for {
		if pace(ctx, m.sink) != nil {
			if ctx.Err() == nil {
				m.drop()
			}
			return at, ctx.Err()
		}
		upto, here := m.behindAt()
		if !here {
			return at, nil
		}
		n := newNets(m.group)
		reached, err := n.collect(ctx, h, at, upto)
		if err != nil {
			return at, err
		}
		if at, here, err = e.tellNets(ctx, m, n, at); err != nil || !here {
			return at, err
		}
		at = max(at, reached)
		if at < upto || h.unread() {
			continue
		}
		var done bool
		if at, done = m.upToDate(at); done || ctx.Err() != nil {
			return at, ctx.Err()
		}
	}
}

// tellNets hands over what is left of some changes; false: the sink takes no more.
func (e *Engine) tellNets(ctx context.Context, m *member, n *nets, at uint64) (reached uint64, here bool, err error) {
	list := n.list()
	m.skipped += n.skipped
	e.live.skipped.Add(uint64(n.skipped))
	e.meters.dropped.Add(n.skipped)
	for _, ev := range list {
		var told marks
		if m.skipped > 0 {
			told = marks{"skipped": int64(m.skipped)}
		}
		cursor := m.shard.cursor(ev.Seq)
		payload, err := e.tellNet(ctx, m.group, ev, cursor, told)
		if err != nil {
			return at, false, err
		}
		if here, err := m.take(ctx, payload, cursor); err != nil || !here {
			return at, here, err
		}
		at, m.skipped = ev.Seq, 0
	}
	return at, true, nil
}

// tellNet executes one event, told as it is.
func (e *Engine) tellNet(ctx context.Context, g *group, ev event, cursor string, told marks) (payload []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.fell(ctx, ev, p)
			err = errExecution
		}
	}()
	if g.sight == nil {
		return e.said(ctx, g.who, g.op, ev, cursor, told), nil
	}
	return e.events(ctx, g.who, g.op, []resource.Event{ev.Event}, []marks{told})[0], nil
}

// The bounds of what is put together at a time.
const (
	maxNets      = 1000
	maxNetsBytes = 4 << 20
)

// nets puts the changes of each record together: into the last one, with the
// kind that all of them are to somebody who sees only the end. Of messages from
// the bus the last one of each key is left.
type nets struct {
	group   *group
	records map[string]*net
	bytes   int
	skipped int
}

type net struct {
	first resource.Kind // of the changes that are seen
	last  event         // as it is seen
}

func newNets(g *group) *nets { return &nets{group: g, records: map[string]*net{}} }

// collect takes the changes after from, up to upto or until there are enough, and
// returns the position up to which it has all. What it has taken is not read a
// second time: an error behind that comes again, when it is still there, to
// whoever goes on.
func (n *nets) collect(ctx context.Context, h history, from, upto uint64) (at uint64, err error) {
	at = from
	for first := true; at < upto || first || h.unread(); first = false {
		events, reached, err := h.next(ctx, at, upto)
		if err != nil && at > from {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		for _, ev := range events {
			n.add(ev)
			at = ev.Seq
		}
		at = max(at, reached)
		if len(n.records) >= maxNets || n.bytes >= maxNetsBytes {
			break
		}
	}
	return at, nil
}

func (n *nets) add(ev event) {
	about, seen := ev.ID, true
	if n.group.sight == nil {
		about = ev.about(n.group.op.root.binding.Key)
		n.skipped += ev.left
	} else if ev.Event, seen = n.group.sight.See(ev.Event); !seen {
		return
	}
	n.bytes += len(ev.Raw)
	known := n.records[about]
	if known == nil {
		n.records[about] = &net{first: ev.Kind, last: ev}
		return
	}
	n.skipped++
	n.bytes -= len(known.last.Raw)
	known.last = ev
}

// list returns one event for each record that is not what it was, or for each
// key, in their order.
func (n *nets) list() (list []event) {
	for _, each := range n.records {
		ev := each.last
		if n.group.sight != nil && !each.net(&ev.Kind) { // it came and went
			n.skipped++
			continue
		}
		list = append(list, ev)
	}
	slices.SortFunc(list, func(a, b event) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// net makes a record's last kind the one of all its changes; false when they come
// to nothing.
func (n *net) net(kind *resource.Kind) bool {
	before := n.first != resource.Created && n.first != resource.Entered
	after := *kind != resource.Deleted && *kind != resource.Left
	switch {
	case before && after:
		*kind = resource.Updated
	case after:
		*kind = n.first
	}
	return before || after
}

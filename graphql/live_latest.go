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
// (@resource(onSlow: LATEST)). After a Try that was full, Ready waits for that much.
type Trier interface {
	// Try is Next, but that it takes nothing, and says so, when the sink has no
	// room for the moment.
	Try(payload []byte, cursor string) (taken, full bool)
}

// latest reports whether its members may be told of the newest state of a
// record instead of each change.
func (g *group) latest() bool {
	root := g.op.root.generated
	return root != nil && root.Resource.OnSlow == schema.SlowLatest
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
		s.lag(m, r.seq-1)
	}
	return taken || full
}

// lag leaves a member behind that has everything up to a position. Nothing is
// kept for it: when its sink has room again, what happened meanwhile is looked
// up. The shard's goroutine or a replay calls it, which both are waited for.
func (s *shard) lag(m *member, at uint64) {
	m.behind, m.full, m.held = true, true, nil
	m.replaying++
	e := s.engine
	e.live.wg.Go(func() {
		e.live.run(s.ctx, e, m, func(ctx context.Context) error { return e.persist(ctx, m, at, e.overtake) })
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
		n := newNets(m.group.sight)
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
	for _, ev := range list {
		var told marks
		if m.skipped > 0 {
			told = marks{"skipped": int64(m.skipped)}
		}
		payload := e.events(ctx, m.group.who, m.group.op, []resource.Event{ev}, []marks{told})[0]
		if here, err := m.take(ctx, payload, resource.Position{Log: m.shard.log, Seq: ev.Seq}.String()); err != nil || !here {
			return at, here, err
		}
		at, m.skipped = ev.Seq, 0
	}
	return at, true, nil
}

// maxNets bounds the records whose changes are put together at a time.
const maxNets = 1000

// nets puts the changes of each record together: into the last one, with the
// kind that all of them are to somebody who sees only the end.
type nets struct {
	sight   *resource.Sight
	records map[string]*net
	skipped int
}

type net struct {
	first resource.Kind  // of the changes that are seen
	last  resource.Event // as it is seen
}

func newNets(s *resource.Sight) *nets { return &nets{sight: s, records: map[string]*net{}} }

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
			n.add(ev.Event)
			at = ev.Seq
		}
		at = max(at, reached)
		if len(n.records) >= maxNets {
			break
		}
	}
	return at, nil
}

func (n *nets) add(ev resource.Event) {
	ev, seen := n.sight.See(ev)
	if !seen {
		return
	}
	known := n.records[ev.ID]
	if known == nil {
		n.records[ev.ID] = &net{first: ev.Kind, last: ev}
		return
	}
	n.skipped++
	known.last = ev
}

// list returns one change for each record that is not what it was, in the order
// of the log.
func (n *nets) list() (list []resource.Event) {
	for _, each := range n.records {
		ev, before := each.last, each.first != resource.Created && each.first != resource.Entered
		after := ev.Kind != resource.Deleted && ev.Kind != resource.Left
		switch {
		case before && after:
			ev.Kind = resource.Updated
		case after:
			ev.Kind = each.first
		case !before: // it came and went
			n.skipped++
			continue
		}
		list = append(list, ev)
	}
	slices.SortFunc(list, func(a, b resource.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

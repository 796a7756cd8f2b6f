package graphql

import (
	"container/list"
	"context"
	"slices"

	"tidings/internal/rawjson"
	"tidings/schema"
)

// Those who are slow to take what comes from the bus, and may be told of the
// newest alone (@busSubscribe(onSlow: LATEST)), find it here: one memory for all
// of them on a subject, as long as there is one.

// The bounds of what is kept for them: those of what waits for a process that is
// slow itself. Beyond them the oldest is gone: whoever needs it gets it from the
// stream, or is told that it is gone.
const (
	maxNewest      = 4096
	maxNewestBytes = 16 << 20
)

// newest is the newest message of each key since somebody fell behind. The
// shard's lock guards it.
type newest struct {
	key    string
	kept   *list.List // of kept, the oldest first
	byKey  map[string]*list.Element
	bytes  int
	gone   event // the latest that is not there although it was the newest
	behind int   // how many need it
}

type kept struct {
	event
	key string
}

// about is equal for messages of which the newest stands for all: those with the
// same value of a member, those with none, and those with the same error.
func (ev event) about(key string) string {
	if ev.err != nil {
		return "!" + ev.err.Error() // no JSON begins so
	}
	var found [1]rawjson.Extent
	if key == "" || !rawjson.Find(ev.Raw, []string{key}, found[:]) {
		return ""
	}
	return string(found[0].Of(ev.Raw))
}

func (n *newest) add(ev event) {
	k := kept{ev, ev.about(n.key)}
	if older := n.byKey[k.key]; older != nil {
		n.remove(older)
	}
	n.byKey[k.key] = n.kept.PushBack(k)
	n.bytes += len(ev.Raw)
	for n.kept.Len() > maxNewest || n.bytes > maxNewestBytes && n.kept.Len() > 1 {
		n.gone = n.remove(n.kept.Front())
	}
}

func (n *newest) remove(e *list.Element) event {
	k := n.kept.Remove(e).(kept)
	delete(n.byKey, k.key)
	n.bytes -= len(k.Raw)
	return k.event
}

// after returns the first of what is kept after a position.
func (n *newest) after(at uint64) (events []event) {
	e := n.kept.Back()
	for e != nil && e.Value.(kept).Seq > at {
		e = e.Prev()
	}
	if e == nil {
		e = n.kept.Front()
	}
	for ; e != nil && len(events) < maxChunk; e = e.Next() {
		if k := e.Value.(kept); k.Seq > at {
			events = append(events, k.event)
		}
	}
	return events
}

// remember makes the shard keep, from the event on that is being handed out, what
// somebody has to be told later, until forget.
func (s *shard) remember(b *schema.Binding) {
	if s.newest == nil {
		s.newest = &newest{key: b.Key, kept: list.New(), byKey: map[string]*list.Element{}}
	}
	s.newest.behind++
}

func (s *shard) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest.behind--; s.newest.behind == 0 {
		s.newest = nil
	}
}

// newestHistory is what a subscriber has to be told who fell behind.
type newestHistory struct {
	tap    *tap
	member *member
}

func (h *newestHistory) unread() bool { return false }

func (h *newestHistory) next(ctx context.Context, after, upto uint64) (events []event, reached uint64, err error) {
	events, complete := h.recall(after)
	switch {
	case !complete:
		past := streamHistory{tap: h.tap}
		events, reached, err = past.next(ctx, after, upto)
		h.passed(len(events))
		return events, reached, err
	case len(events) == 0:
		return nil, max(after, upto), nil
	}
	return events, events[len(events)-1].Seq, nil
}

// recall returns what the shard remembers. Incomplete: something is gone that the
// stream may have.
func (h *newestHistory) recall(after uint64) (events []event, complete bool) {
	s, m := h.tap.shard, h.member
	s.mu.Lock()
	defer s.mu.Unlock()
	events = s.newest.after(after)
	if gone := s.newest.gone; gone.Seq > after {
		if s.log != "" {
			return nil, false
		}
		gap := h.tap.gap()
		gap.Seq, gap.nth = gone.Seq, gone.nth
		events = slices.Insert(events, 0, gap)
	}
	for i := range events {
		events[i].left = int(events[i].nth - m.nth - 1)
		m.nth = events[i].nth
	}
	return events, true
}

// passed counts messages that the stream had.
func (h *newestHistory) passed(n int) {
	h.tap.shard.mu.Lock()
	defer h.tap.shard.mu.Unlock()
	h.member.nth += uint64(n)
}

package graphql

import (
	"tidings/internal/trace"
)

// What an event sets off here is a trace of its own, for each group that hears of
// it: the one who caused it was answered long ago, and a subscription has no end.
// It refers to the span that wrote the event, or published the message, and to those in which subscribers
// began. There is one only where the writing was recorded.

// referred is to how many of the subscribers' beginnings an event refers.
const referred = 8

// tracedFor is executeFor, recorded where the event was.
func (s *shard) tracedFor(g *group, ev event, told map[telling][]byte) result {
	if ev.Cause == nil { // as a rule
		return s.executeFor(s.ctx, g, ev, told)
	}
	causes := append([]*trace.Remote{ev.Cause}, s.begun(g)...)
	ctx, span := s.engine.options.Tracer.Caused(s.ctx, s.template(g), causes...)
	r := s.executeFor(ctx, g, ev, told)
	if r.skip { // nobody hears of it, and the span is forgotten
		return r
	}
	s.engine.describe(span, g.op)
	span.Text(trace.Change, string(ev.Kind))
	if g.op.root.binding == nil {
		span.Number(trace.Sequence, int64(ev.Seq))
	}
	if r.failed {
		span.Fail("INTERNAL", true)
	}
	r.span = span
	return r
}

// template is the subject of what g hears of, as traces have it.
func (s *shard) template(g *group) string {
	if b := g.op.root.binding; b != nil {
		return b.Subject.Text
	}
	return s.engine.feed.Template(g.typ())
}

// begun are the spans of the subscribers' beginnings, as far as they are recorded.
func (s *shard) begun(g *group) (list []*trace.Remote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range g.members {
		if m.begun != nil && len(list) < referred {
			list = append(list, m.begun)
		}
	}
	return list
}

// delivered ends the span of an event that was handed to so many subscribers.
func (r *result) delivered(subscribers int) {
	if r.span != nil {
		r.span.Number(trace.Subscribers, int64(subscribers))
		r.span.End()
	}
}

// began ends the span of a subscription's beginning: the subscription has none.
func began(span *trace.Span, failed *Response) {
	if span == nil {
		return
	}
	if failed != nil {
		traced(span, failed.Code)
		return
	}
	span.End()
}

package graphql

import (
	"context"
	"errors"

	"tidings/fault"
	"tidings/resource"
	"tidings/schema"
)

// changePage is a page of a resource's changes: those after a position that the
// caller may know of.
type changePage struct {
	events []resource.Event
	end    uint64 // nothing up to here is missing
	more   bool   // there is an event after end
}

// changes answers a field such as userChanges: the events of the subscription,
// with its cursors and its rules, by polling. Without a cursor it says where the
// present is.
func (r *run) changes(ctx context.Context, f *root, args map[string]any) answer {
	res := f.generated.Resource
	first, err := r.changeCount(args)
	if err != nil {
		return refused(err)
	}
	rule := res.Auth[schema.Read]
	if !rule.Roles.Has(schema.Anyone) && !r.who.May(rule, r.who.Subject) {
		return refused(fault.New(fault.Forbidden, "you may not read %s", res.Name))
	}
	filter, err := filterOf(res, args)
	if err != nil {
		return refused(err)
	}
	sight, err := resource.NewSight(res, r.who, filter)
	if err != nil {
		return refused(err)
	}
	page := changePage{end: r.engine.feed.Now().Seq}
	if cursor, given := args["after"].(string); given {
		after, err := r.engine.position(cursor)
		if err != nil {
			return refused(err)
		}
		if page, err = r.engine.changesAfter(ctx, res.Name, after, first, sight); err != nil {
			return refused(err)
		}
	}
	return single(r.changePage(ctx, f.target, page))
}

func (r *run) changeCount(args map[string]any) (int, error) {
	most := r.engine.options.Limits.Page
	n, err := pageSize(args, "first", most)
	if n == 0 {
		n = min(schema.DefaultPage, most)
	}
	return n, err
}

// changesAfter collects the first events after a position that the caller sees:
// from the recent ones in memory, or from the log. That is then read to
// its end although the page is full long before, because only later changes of
// the same records tell whether some that belong on the page are gone.
func (e *Engine) changesAfter(ctx context.Context, typ string, after uint64, first int, sight *resource.Sight) (p changePage, err error) {
	take := func(ev resource.Event) error {
		ev, seen := sight.See(ev)
		switch {
		case p.more || !seen:
		case len(p.events) == first:
			p.more = true
		default:
			p.events = append(p.events, ev)
		}
		return nil
	}
	p.end = after
	for upto := e.feed.Now().Seq; p.end != upto && !p.more; {
		events, reached, err := e.feed.RecentOf(typ, p.end, max(p.end, upto), maxChunk)
		if errors.Is(err, resource.ErrBehind) || p.end > upto {
			if p.end, err = e.replayAll(ctx, e.feed.Past(typ, "", p.end, sight), take); err != nil {
				return p, err
			}
			break
		}
		for _, ev := range events {
			take(ev)
		}
		p.end = reached
	}
	if p.more {
		p.end = p.events[first-1].Seq
	}
	return p, ctx.Err()
}

// replayAll reads the log from a position to its end; few do so at a time.
func (e *Engine) replayAll(ctx context.Context, p *resource.Past, fn func(resource.Event) error) (reached uint64, err error) {
	select {
	case e.live.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-e.live.slots }()
	return p.Read(ctx, fn)
}

// changePage lays the page out as batches.
func (r *run) changePage(ctx context.Context, o *object, p changePage) *batch {
	row := appendString([]byte(`{"endCursor":`), r.cursor(p.end))
	row = appendValue(append(row, `,"hasMore":`...), p.more)
	b := &batch{object: o, rows: [][]byte{append(row, '}')}, links: make([]link, o.links)}
	for i := range o.fields {
		if f := &o.fields[i]; f.source == sourceNodes {
			b.links[f.link] = link{next: r.changed(ctx, f.target, p.events), spans: whole(len(p.events))}
		}
	}
	return b
}

func (r *run) cursor(seq uint64) string {
	return resource.Position{Log: r.engine.logID(), Seq: seq}.String()
}

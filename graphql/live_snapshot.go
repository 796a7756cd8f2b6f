package graphql

import (
	"context"
	"sort"
	"strings"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/resource"
	"tidings/view"
)

// A snapshot is the records that somebody sees, before their changes. They are
// read in pages by id, each of one state of the view, which moves on meanwhile.
// So each page notes its state, and of the changes that came during the reading
// the client gets those that the page of their record does not show yet. Then
// all is as of one position, from which the subscription goes on as one that
// resumes there. Until then results carry a cursor that begins the snapshot
// anew.
type snapshot struct {
	engine *Engine
	member *member
	who    auth.Principal // who pays
	query  view.Query
	pages  []page
	rows   int
	// held is the latest result that was not handed over yet: the last one of all
	// is to carry the first good cursor.
	held  *resource.Event
	begun bool
}

// page is what is known of the ids up to one: everything up to a position.
type page struct {
	id       string // of its last record; of the last page empty
	position uint64
}

// snapshotPage is how many records are read at a time.
const snapshotPage = 50

// unfinished ends the cursors of a snapshot that is not complete.
const unfinished = "-~"

var errUnfinished = fault.New(fault.BadUserInput, "the cursor is of a snapshot that was not complete; subscribe with `snapshot: true`, which begins it anew")

// cursorOf is the cursor that a change is told with. Seq 0 is that of a result
// of an unfinished snapshot.
func (r *run) cursorOf(ev resource.Event) string {
	if ev.Seq == 0 {
		return r.engine.logID() + unfinished
	}
	return r.cursor(ev.Seq)
}

// wantsSnapshot reports whether the operation begins with the records as they are.
func (op *operation) wantsSnapshot() bool {
	wanted, _ := op.root.args["snapshot"].(bool)
	return wanted
}

// restarts reports whether a snapshot begins anew for a client with this
// cursor, or without one.
func (op *operation) restarts(cursor string) bool {
	return op.wantsSnapshot() && (cursor == "" || strings.HasSuffix(cursor, unfinished))
}

// bring brings a member that is behind up to its shard: by what it has missed
// since a position, or by a snapshot where it begins anew, or where it would
// rather have one than be told that some of what it has missed is gone.
func (e *Engine) bring(ctx context.Context, who auth.Principal, m *member, at uint64, anew bool) error {
	if !anew {
		err := e.persist(ctx, m, m.shard.past(m.group), at, e.catchUp)
		if !m.group.op.wantsSnapshot() || !fault.Is(err, fault.CursorExpired) {
			return err
		}
	}
	if m.resume != nil { // its events are gone
		m.resume.anew = true
	}
	at, err := e.newSnapshot(who, m).run(ctx)
	if err != nil {
		return err
	}
	return e.persist(ctx, m, m.shard.past(m.group), at, e.catchUp)
}

func (e *Engine) newSnapshot(who auth.Principal, m *member) *snapshot {
	g := m.group
	res := g.op.root.generated.Resource
	filter, _ := g.op.filter() // a member's has been looked at
	if id := g.id(); id != "" {
		filter = &view.Filter{And: []*view.Filter{filter, {Field: res.Field("id"), Op: "eq", Value: id}}}
	}
	return &snapshot{engine: e, member: m, who: who, query: view.Query{Type: res.Name, Filter: filter, First: snapshotPage}}
}

// run hands the snapshot over and returns the position that the member is at
// then.
func (s *snapshot) run(ctx context.Context) (at uint64, err error) {
	if err := s.pay(ctx); err != nil {
		return 0, err
	}
	from := s.engine.feed.Now().Seq
	if err := s.readAll(ctx); err != nil {
		return 0, err
	}
	upto := from
	for _, p := range s.pages {
		upto = max(upto, p.position)
	}
	if err := s.engine.data.WaitFor(ctx, upto); err != nil {
		return 0, err
	}
	if err := s.reconcile(ctx, from, upto); err != nil {
		return 0, err
	}
	return upto, s.finish(ctx, upto)
}

// pay counts what the snapshot costs: what a list of its records would.
func (s *snapshot) pay(ctx context.Context) error {
	e, op := s.engine, s.member.group.op
	most := e.options.Limits.Snapshot
	n, err := e.data.CountTo(ctx, s.member.group.who, s.query.Type, s.query.Filter, most+1)
	if err != nil {
		return err
	}
	if n > most {
		e.meters.limit("snapshot")
		return tooLong(most)
	}
	more := e.priceOfRecord(op) * max(0, n-1) // one was paid for by subscribing
	if total := op.cost.Estimated + more; total > op.cost.Max && !e.options.Limits.Measure {
		e.meters.limit("cost")
		return fault.New(fault.CostLimitExceeded, "the snapshot of %d records is estimated to cost %d; at most %d is allowed: narrow it by a filter, or select less", n, total, op.cost.Max)
	}
	return e.options.Quota.Spend(ctx, s.who, more)
}

// priceOfRecord is what each result of a subscription costs: all but what its
// arguments do.
func (e *Engine) priceOfRecord(op *operation) int {
	p := pricing{engine: e, vars: op.vars}
	return op.cost.Estimated - whole64(p.given(&op.plan.roots[0].field, op.root.args))
}

func tooLong(most int) error {
	return fault.New(fault.CostLimitExceeded, "a snapshot has at most %d records: narrow it by a filter, or read the list page by page and subscribe without a snapshot", most)
}

// readAll hands the records over but for the last, which it holds.
func (s *snapshot) readAll(ctx context.Context) error {
	for more := true; more; {
		found, position, err := s.read(ctx)
		if err != nil {
			return err
		}
		if s.rows += len(found.Records); s.rows > s.engine.options.Limits.Snapshot {
			return tooLong(s.engine.options.Limits.Snapshot)
		}
		now := time.Now()
		events := make([]resource.Event, len(found.Records))
		last := ""
		for i, raw := range found.Records {
			last = rawjson.String(raw, "id")
			events[i] = resource.Event{Kind: resource.Snapshot, Type: s.query.Type, ID: last, Raw: raw, Time: now}
		}
		if more = found.HasNext; !more {
			last = ""
		} else {
			s.query.After = found.Cursors[len(found.Cursors)-1]
		}
		s.pages = append(s.pages, page{id: last, position: position})
		if err := s.give(ctx, events); err != nil {
			return err
		}
	}
	return nil
}

// read reads the next page; few read at a time.
func (s *snapshot) read(ctx context.Context) (view.Page, uint64, error) {
	e := s.engine
	release, err := take(ctx, e.live.slots)
	if err != nil {
		return view.Page{}, 0, err
	}
	defer release()
	return e.data.ListAt(ctx, s.member.group.who, s.query)
}

// shows reports whether the page of the event's record shows it already.
func (s *snapshot) shows(ev resource.Event) bool {
	last := len(s.pages) - 1
	i := sort.Search(last, func(i int) bool { return s.pages[i].id >= ev.ID })
	return ev.Seq <= s.pages[i].position
}

// reconcile hands over what happened during the reading and is not in the pages.
func (s *snapshot) reconcile(ctx context.Context, at, upto uint64) error {
	h := s.member.shard.past(s.member.group)
	for at < upto || h.unread() {
		events, reached, err := h.next(ctx, at, upto)
		if err != nil {
			return err
		}
		for _, ev := range events {
			at = max(at, ev.Seq)
			if ev.Seq > upto || s.shows(ev.Event) {
				continue
			}
			change, seen := s.member.group.sight.See(ev.Event)
			if !seen {
				continue
			}
			change.Seq = 0
			if err := s.give(ctx, []resource.Event{change}); err != nil {
				return err
			}
		}
		at = max(at, reached)
	}
	return nil
}

// give hands over what is held and all of the events but the last, which is
// held then.
func (s *snapshot) give(ctx context.Context, events []resource.Event) error {
	if len(events) == 0 {
		return nil
	}
	if s.held != nil {
		events = append([]resource.Event{*s.held}, events...)
	}
	last := len(events) - 1
	s.held = &events[last]
	if last == 0 {
		return nil
	}
	return s.send(ctx, events[:last], make([]marks, last))
}

// finish hands over the last result, which says that the snapshot is complete.
// Where no record is there it says nothing else.
func (s *snapshot) finish(ctx context.Context, upto uint64) error {
	told := map[string]any{"complete": true}
	if s.held != nil {
		last := *s.held
		last.Seq = upto
		return s.send(ctx, []resource.Event{last}, []marks{{"snapshot": told}})
	}
	told["begin"] = true
	cursor := resource.Position{Log: s.engine.logID(), Seq: upto}.String()
	payload := appendValue([]byte(`{"data":null,"extensions":`), map[string]any{"cursor": cursor, "snapshot": told})
	return s.next(ctx, append(payload, '}'), cursor)
}

func (s *snapshot) send(ctx context.Context, events []resource.Event, told []marks) error {
	g := s.member.group
	if !s.begun {
		s.begun = true
		first, _ := told[0]["snapshot"].(map[string]any)
		if first == nil {
			first = map[string]any{}
		}
		first["begin"] = true
		told[0] = marks{"snapshot": first}
	}
	for i, payload := range s.engine.events(ctx, g.who, g.op, events, told) {
		cursor := s.engine.logID() + unfinished
		if seq := events[i].Seq; seq > 0 {
			cursor = resource.Position{Log: s.engine.logID(), Seq: seq}.String()
		}
		if err := s.next(ctx, payload, cursor); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) next(ctx context.Context, payload []byte, cursor string) error {
	here, err := s.member.take(ctx, payload, cursor)
	if err == nil && !here {
		err = errStopping // nobody is there to hear it
	}
	return err
}

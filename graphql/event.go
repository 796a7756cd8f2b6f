package graphql

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"tidings/auth"
	"tidings/resource"
	"tidings/view"
)

// event runs a subscription's selection set on one change, as the caller sees
// it (resource.Sight), and returns the whole result, with the cursor in its
// extensions. The payload is the same for all callers that operation.rules does
// not tell apart.
func (e *Engine) event(ctx context.Context, who auth.Principal, op *operation, ev resource.Event) []byte {
	return e.events(ctx, who, op, []resource.Event{ev}, nil)[0]
}

// events returns the results of several changes, read together: a relation
// costs one read for all of them. marks, not nil, are what the extensions of
// each tell beside its cursor.
func (e *Engine) events(ctx context.Context, who auth.Principal, op *operation, list []resource.Event, marks []marks) [][]byte {
	f := op.plan.roots[0]
	if f.far {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(e.options.Timeout, eventTime))
		defer cancel()
	}
	r := e.newRun(ctx, maxEvent, who, op)
	defer r.done()
	b := r.changed(ctx, f.target, list)
	payloads := make([][]byte, len(list))
	for i, ev := range list {
		if i > 0 {
			r.again(ctx)
		}
		if marks != nil {
			r.marks = marks[i]
		}
		a := answer{link: link{next: b, spans: []span{{int32(i), int32(i) + 1}}}}
		r.spent(f, a)
		payloads[i] = r.payload(func() bool { return r.rooted(f, a) }, r.cursorOf(ev))
	}
	return payloads
}

// marks are members of a result's extensions.
type marks map[string]any

// again makes the run write another result from the same batches.
func (r *run) again(ctx context.Context) {
	r.buf = append(make([]byte, 0, len(r.buf)+len(r.buf)/8), dataPrefix...)
	r.errs, r.over, r.cost = nil, 0, 0
	r.budget = budget{ctx: ctx, room: maxEvent}
}

// eventTime is how long one event may take: others wait behind it.
const eventTime = time.Second

// filter returns which records the operation is about; nil: all. It may be used
// for a field that tells of changes alone.
func (op *operation) filter() (*view.Filter, error) {
	return filterOf(op.root.generated.Resource, op.root.args)
}

// reads reports whether an event's record leads to others.
func (f *root) reads() bool {
	if f.target == nil {
		return false
	}
	for _, below := range f.target.fields {
		if below.source == sourceRecord && below.target.reads() {
			return true
		}
	}
	return false
}

// changed returns a batch of changes, with the records that they lead to.
func (r *run) changed(ctx context.Context, o *object, events []resource.Event) *batch {
	b := &batch{object: o, rows: make([][]byte, len(events)), links: make([]link, o.links)}
	for i, ev := range events {
		b.rows[i] = change(ev, r.cursorOf(ev))
	}
	for i := range o.fields {
		if f := &o.fields[i]; f.source == sourceRecord {
			b.links[f.link] = recordsOf(f.target, events)
			r.resolve(ctx, b.links[f.link].next)
		}
	}
	return b
}

// recordsOf leads from each change to its record, if there is one and the caller
// may read it.
func recordsOf(o *object, events []resource.Event) link {
	l := link{next: &batch{object: o}, spans: make([]span, len(events))}
	for i, ev := range events {
		l.spans[i] = nothing
		if ev.Kind != resource.Deleted && ev.Raw != nil {
			n := int32(len(l.next.rows))
			l.spans[i] = span{n, n + 1}
			l.next.rows = append(l.next.rows, ev.Raw)
		}
	}
	return l
}

// change is what a change says of itself, as the record of its type.
func change(ev resource.Event, cursor string) []byte {
	buf := append(make([]byte, 0, 96+len(ev.ID)+len(cursor)), `{"kind":"`...)
	buf = append(buf, ev.Kind...)
	buf = appendString(append(buf, `","id":`...), ev.ID)
	buf = append(buf, `,"at":"`...)
	buf = ev.Time.UTC().AppendFormat(buf, time.RFC3339Nano)
	buf = appendString(append(buf, `","cursor":`...), cursor)
	return append(buf, '}')
}

// said returns the whole result for one message from the bus. told is what its
// extensions tell beside the cursor.
func (e *Engine) said(ctx context.Context, who auth.Principal, op *operation, ev event, cursor string, told marks) []byte {
	if target := op.plan.roots[0].target; target != nil && target.reads() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(e.options.Timeout, eventTime))
		defer cancel()
	}
	return e.yielded(ctx, who, op, json.RawMessage(ev.Raw), ev.err, cursor, told)
}

// yielded returns the whole result for one value that a subscription's function
// gave, or for the error that ended it.
func (e *Engine) yielded(ctx context.Context, who auth.Principal, op *operation, value any, err error, cursor string, told marks) []byte {
	f := op.plan.roots[0]
	r := e.newRun(ctx, maxEvent, who, op)
	defer r.done()
	r.marks = told
	a := refused(err)
	if err == nil {
		a = r.composed(f, value)
	}
	return r.payload(func() bool {
		if f.leaf != nil && a.err == nil {
			r.spent(f, a)
			return r.leaf(&f.field, a.raw)
		}
		r.resolve(ctx, a.next)
		r.spent(f, a)
		return r.rooted(f, a)
	}, cursor)
}

// payload writes a result with one root field.
func (r *run) payload(write func() bool, cursor string) []byte {
	r.buf = append(append(r.buf, '{'), r.op.plan.roots[0].key...)
	if write() {
		r.buf = append(r.buf, '}')
	} else {
		r.buf = append(r.buf[:len(dataPrefix)], "null"...)
	}
	r.settle()
	if errs := r.presented(); len(errs) > 0 {
		r.buf = appendErrors(append(r.buf, `,"errors":`...), errs)
	}
	r.extend(cursor)
	r.op.plan.hint.Store(int64(len(r.buf)))
	return append(r.buf, '}')
}

// extend writes what a result tells beside its data.
func (r *run) extend(cursor string) {
	if !r.op.asked.cost && r.marks == nil { // as a rule
		if cursor != "" {
			r.buf = appendString(append(r.buf, `,"extensions":{"cursor":`...), cursor)
			r.buf = append(r.buf, '}')
		}
		return
	}
	told := maps.Clone(r.marks)
	if told == nil {
		told = marks{}
	}
	if r.op.asked.cost {
		told["cost"] = r.costs()
	}
	if cursor != "" {
		told["cursor"] = cursor
	}
	r.buf = appendValue(append(r.buf, `,"extensions":`...), map[string]any(told))
}

// logID is the identity of the log that cursors are positions of.
func (e *Engine) logID() string { return e.now().Log }

// now is how far the view is; zero where there are no records.
func (e *Engine) now() resource.Position {
	if e.feed == nil {
		return resource.Position{}
	}
	return e.feed.Now()
}

package graphql

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"tidings/auth"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// Reads counts how often an engine asks for records.
type Reads struct {
	records
	Get, Related, List, Count atomic.Int64
}

type countingReads struct{ *Reads }

// CountReads makes the engine count. Not while it runs anything.
func CountReads(e *Engine) *Reads {
	r := &Reads{records: e.data}
	e.data = countingReads{r}
	return r
}

func (c countingReads) Get(ctx context.Context, who auth.Principal, typ string, ids []string) ([]resource.Found, error) {
	c.Reads.Get.Add(1)
	return c.records.Get(ctx, who, typ, ids)
}

func (c countingReads) Related(ctx context.Context, who auth.Principal, rel *schema.Relation, parents []string, limit int) ([][][]byte, error) {
	c.Reads.Related.Add(1)
	return c.records.Related(ctx, who, rel, parents, limit)
}

func (c countingReads) List(ctx context.Context, who auth.Principal, q view.Query) (view.Page, error) {
	c.Reads.List.Add(1)
	return c.records.List(ctx, who, q)
}

func (c countingReads) Count(ctx context.Context, who auth.Principal, typ string, f *view.Filter) (int, error) {
	c.Reads.Count.Add(1)
	return c.records.Count(ctx, who, typ, f)
}

// Slow makes every read wait for the end of its context.
func Slow(e *Engine) { e.data = slowReads{e.data} }

type slowReads struct{ records }

func (s slowReads) Get(ctx context.Context, _ auth.Principal, _ string, _ []string) ([]resource.Found, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Prepare and Event open what live subscriptions are built on.
type Operation = operation

func (e *Engine) Prepare(r Request) (*Operation, *Response) {
	return e.prepare(context.Background(), r)
}
func (op *operation) Key() string         { return op.key() }
func (op *operation) Rules() schema.Roles { return op.rules() }
func (e *Engine) Event(ctx context.Context, who auth.Principal, op *Operation, ev resource.Event) (payload []byte, skip bool) {
	filter, err := op.filter()
	if err != nil {
		panic(err)
	}
	sight, err := resource.NewSight(op.root.generated.Resource, who, filter)
	if err != nil {
		panic(err)
	}
	ev, seen := sight.See(ev)
	if !seen {
		return nil, true
	}
	return e.event(ctx, who, op, ev), false
}
func (e *Engine) Yielded(ctx context.Context, who auth.Principal, op *Operation, v any, err error) []byte {
	return e.yielded(ctx, who, op, v, err, "", nil)
}

// Conform is what becomes of a service's answer for a root field.
func (e *Engine) Conform(raw []byte, typ, field string) (value json.RawMessage, wrong string) {
	return e.conform(raw, e.rootType(typ).Fields.ForName(field).Type)
}

// Memorize answers reads that were made before from memory.
func Memorize(e *Engine) { e.data = &memory{records: e.data} }

type memory struct {
	records
	found   []resource.Found
	related [][][]byte
	page    *view.Page
}

func (m *memory) Get(ctx context.Context, who auth.Principal, typ string, ids []string) (_ []resource.Found, err error) {
	if m.found == nil {
		m.found, err = m.records.Get(ctx, who, typ, ids)
	}
	return m.found, err
}

func (m *memory) Related(ctx context.Context, who auth.Principal, rel *schema.Relation, parents []string, limit int) (_ [][][]byte, err error) {
	if m.related == nil {
		m.related, err = m.records.Related(ctx, who, rel, parents, limit)
	}
	return m.related, err
}

func (m *memory) List(ctx context.Context, who auth.Principal, q view.Query) (view.Page, error) {
	if m.page == nil {
		page, err := m.records.List(ctx, who, q)
		if err != nil {
			return page, err
		}
		m.page = &page
	}
	return *m.page, nil
}

// PlainEscapes is plainEscapes without its error.
func PlainEscapes(text string) (string, bool) {
	plain, err := plainEscapes(text)
	return plain, err == nil
}

// SamePlan reports whether two operations share a plan.
func SamePlan(a, b *Operation) bool { return a.plan == b.plan }

// Cached tells how many documents are kept, and how long their texts are.
func Cached(e *Engine) (texts int, size int64) {
	return e.documents.cache.Len(), e.documents.size.Load()
}

// Unreadable is what becomes of a message of Subscription.<field> when reading
// it panics.
func (e *Engine) Unreadable(field string, data []byte) error {
	p := &tap{engine: e, ctx: context.Background(), binding: e.model.Binding("Subscription", field)}
	return p.event(1, data).err
}
